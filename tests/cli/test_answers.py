import pytest

from headrace.cli.answers import Answer


@pytest.mark.parametrize("piece", ["年休假十二天，", "Twelve days of"])
def test_an_answer_whose_server_was_killed_says_how_the_rest_is_had(
    piece: str, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = Answer(live=False)
    answer.take({"response_type": "agent_query", "assistant_message_id": "m1", "run_id": "r1"})
    answer.take({"response_type": "answer", "content": piece, "data": {"segment": 1}})
    answer.finish()
    told = capsys.readouterr()
    assert told.out == f"{piece}\n"
    assert "headrace replay r1" in told.err
    assert answer.exit_code == 1
