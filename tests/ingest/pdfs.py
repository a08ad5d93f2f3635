"""Small PDFs written by hand: text where it is wanted, in Latin and Chinese, and rules of a table."""

from collections.abc import Sequence
from dataclasses import dataclass, field

WIDTH, HEIGHT = 595, 842


@dataclass(slots=True)
class Page:
    """Content operators; places are in points from the top left."""

    content: list[str] = field(default_factory=list[str])

    def write(self, text: str, *, x: float = 72, y: float, size: float = 10, bold: bool = False) -> None:
        chinese = any(character >= "\u2e80" for character in text)
        font = "F3" if chinese else "F2" if bold else "F1"
        shown = f"<{text.encode('utf-16-be').hex()}>" if chinese else f"({_escaped(text)})"
        self.content.append(f"BT /{font} {size} Tf {x} {HEIGHT - y} Td {shown} Tj ET")

    def line(self, x0: float, y0: float, x1: float, y1: float) -> None:
        self.content.append(f"{x0} {HEIGHT - y0} m {x1} {HEIGHT - y1} l S")

    def picture(self) -> None:
        self.content.append("q 100 0 0 100 72 600 cm /Im Do Q")


def a_pdf(pages: Sequence[Page], *, encrypted: bool = False) -> bytes:
    """The bytes of a PDF; an encrypted one has a password that nobody knows."""
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Count {len(pages)}/Kids[{' '.join(f'{9 + 2 * n} 0 R' for n in range(len(pages)))}]>>",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica-Bold/Encoding/WinAnsiEncoding>>",
        "<</Type/Font/Subtype/Type0/BaseFont/STSong-Light/Encoding/UniGB-UCS2-H/DescendantFonts[6 0 R]>>",
        "<</Type/Font/Subtype/CIDFontType0/BaseFont/STSong-Light/DW 1000/FontDescriptor 7 0 R"
        "/CIDSystemInfo<</Registry(Adobe)/Ordering(GB1)/Supplement 2>>>>",
        "<</Type/FontDescriptor/FontName/STSong-Light/Flags 6/FontBBox[0 -200 1000 900]"
        "/ItalicAngle 0/Ascent 800/Descent -200/CapHeight 800/StemV 90>>",
        "<</Type/XObject/Subtype/Image/Width 1/Height 1/ColorSpace/DeviceGray/BitsPerComponent 8/Length 1>>"
        "\nstream\nx\nendstream",
    ]
    for number, page in enumerate(pages):
        stream = "\n".join(page.content)
        objects.append(
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 {WIDTH} {HEIGHT}]/Contents {10 + 2 * number} 0 R"
            "/Resources<</Font<</F1 3 0 R/F2 4 0 R/F3 5 0 R>>/XObject<</Im 8 0 R>>>>>>"
        )
        objects.append(f"<</Length {len(stream)}>>\nstream\n{stream}\nendstream")
    return _file(objects, encrypted=encrypted)


def _file(objects: Sequence[str], *, encrypted: bool) -> bytes:
    data = bytearray(b"%PDF-1.4\n")
    places: list[int] = []
    for number, body in enumerate(objects, start=1):
        places.append(len(data))
        data += f"{number} 0 obj\n{body}\nendobj\n".encode("latin-1")
    start = len(data)
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    junk = "41" * 32
    lock = (
        f"/Encrypt<</Filter/Standard/V 1/R 2/P -4/O<{junk}>/U<{junk}>>>/ID[<{junk}><{junk}>]"
        if encrypted
        else ""
    )
    size = len(objects) + 1
    data += f"xref\n0 {size}\n0000000000 65535 f \n{table}".encode()
    data += f"trailer\n<</Size {size}/Root 1 0 R{lock}>>\nstartxref\n{start}\n%%EOF".encode()
    return bytes(data)


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
