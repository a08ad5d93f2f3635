"""How the journal of each version becomes one of the next."""

from collections.abc import Mapping

# From each version to the next. What a step does to a file stays as it is for good: files of that version are
# out there. A new step comes with every change of `schema.TABLES`.
STEPS: Mapping[int, str] = {
    1: """
        alter table messages add column forked integer not null default 0;
        alter table messages add column erased_at text;
        alter table runs add column started_at text;
        alter table runs add column forked_from text;
        alter table runs add column fork_stage text;
        alter table runs add column kept text not null default 'all';
        drop index one_run_per_session;
        create unique index one_run_per_session on runs (session_id)
            where ended_at is null and status <> 'queued' and forked_from is null;
        create index unfinished_runs on runs (session_id) where ended_at is null;
        create index runs_by_time on runs (created_at);
    """,
    2: """
        alter table sessions add column pinned_at text;
        alter table messages add column details text not null default '{}';
    """,
}
