"""sctp_trace, the tool that study 002 measured with: built from its listing in appendix B of the text.

Neither the text nor the program is part of the project. `REXMIT_TEXT_002` names the text, where somebody has
it; the listing is taken out of it, compiled with the header below in place of libpcap's, and thrown away.

The text is read by a machine from print: lines are broken, numbered and garbled, and the listing's last lines
are missing. What is mended is listed here: :data:`MENDED` are single expressions that the reading broke,
:data:`BRACES` lines that it lost, :data:`END` is the end of the loop over packets.
"""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

TEXT = os.environ.get("REXMIT_TEXT_002", "")
THERE = bool(TEXT) and Path(TEXT).is_file() and shutil.which("cc") is not None
WHY = "needs REXMIT_TEXT_002, the text of study 002, and a C compiler"

MENDED: Sequence[tuple[str, str]] = (
    (
        r"retransmission \\hbox.*min.*",
        "retransmission->min_cumulative_retrtime = datachunks[TSN].cumulative_retrtime;",
    ),
    (
        r"retransmission \\hbox.*max.*",
        "retransmission->max_cumulative_retrtime = datachunks[TSN].cumulative_retrtime;",
    ),
    (r"(retransmission->max_cumulative_retrtime = datachunks\[TSN\]\.) *$", r"\1cumulative_retrtime;"),
    (
        r"(update_retr\(datachunks\[TSN\]\.cumulative_retrtime, &retr\[\d\]\[retr_nr\],) *(TSN\);)?$",
        r"\1 TSN);",
    ),
    (r"(TSN - firstTSN\]\.retransmissions >) *$", r"\1 max_retransmissions)"),
    (r"(\*header, int) *\*? *$", r"\1 *is_rto) {"),
    (r"<= *$", "<= sctpPacketEnd){"),
    (r"^(datachunks\[TSN\]\.sacks = 0; /\* Reset)", r"} } \1"),
    ("\u064f", ""),
    (r"(Also allows bundling of chunks in fast retransmits\.)$", r"\1 */"),
    (r"number0fdesc", "numberOfdesc"),
    (r"ntoh1", "ntohl"),
    (r"\\_", "_"),
    (r"else\\\{", "else{"),
    (r"\\n\"\);\\\\$", r'\\n");'),
    (r"\^st/", "*/"),
    (r"</?pre>", ""),
)
"""Expressions that the reading of the print broke, and what stands there.

The counter of reports is set back at the function's own level, by its indentation; two braces before it are
lost.
"""

BRACES: Sequence[tuple[str, str]] = (
    ("else{\n/* Bundling */", "}\nelse{\n/* Bundling */"),
    ("or modified SCTP.\n", "or modified SCTP. */\n"),
    ("if(firstInPacket) firstInPacket = 0;", "}\nif(firstInPacket) firstInPacket = 0;"),
    ("/* A new data chunk, reset", "}\nelse{ /* A new data chunk, reset"),
    ("gapStart = endBlock+1;", "}\ngapStart = endBlock+1;"),
    ('else printf("\\n");\nelse printf("\\n");', 'else printf("\\n");'),
    ("/* Extract packet and chunk headers */", "}"),
    ("/* If the first data chunk discovered", "} /* If the first data chunk discovered"),
    ("/* If first is not a retransmission timeout", "} /* If first is not a retransmission timeout"),
    ("align = 4 - align;", "align = 4 - align; }"),
    ("fflush(stdout);", "}\nfflush(stdout);"),
    ("char errbuf", "}\nchar errbuf"),
)
"""Lines that the print's own line numbers stand in place of: braces, and the end of a comment."""

END = """
          }
          sniff_packet(&h, data);
        }
      } while(data != NULL);
      print_retr();
      return 0;
    }
"""
"""The listing breaks off within its loop over packets."""

PCAP = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#define PCAP_ERRBUF_SIZE 256
struct pcap_pkthdr { struct timeval ts; uint32_t caplen, len; };
typedef FILE pcap_t;
static pcap_t *pcap_open_offline(const char *name, char *error) {
  pcap_t *file = fopen(name, "rb");
  (void)error;
  if (file) fseek(file, 24, SEEK_SET);
  return file;
}
static const unsigned char *pcap_next(pcap_t *file, struct pcap_pkthdr *header) {
  static unsigned char data[65536];
  uint32_t head[4];
  if (fread(head, 16, 1, file) != 1) return NULL;
  header->ts.tv_sec = head[0];
  header->ts.tv_usec = head[1];
  header->caplen = head[2];
  header->len = head[3];
  return fread(data, head[2], 1, file) == 1 ? data : NULL;
}
static void pcap_perror(pcap_t *file, const char *text) { (void)file; (void)text; }
"""
"""As much of libpcap as the program uses: files of microseconds, in the byte order of this machine."""


@dataclass(frozen=True)
class Resent:
    """A retransmission as the tool prints it."""

    tsn: int
    number: int
    ms: float
    kind: str


_KINDS = {
    "Retr_Timeout": "timeout",
    "Fast_Retransmit": "fast",
    "Fast_Retransmin": "fast",
    "Reported_missing": "bundled-reported-missing",
    "In_flight": "bundled-in-flight",
}
_ARROW = re.compile(r"^([→↪⇔⊹∽↩]|⇨|\\hookrightarrow|\$\\hookrightarrow\$)+")
_BREAK = re.compile(r"(←|↔|→|\\leftarrow|\\hbox\{\$\\hookleftarrow\$\})\s*$")
_BRANCH = re.compile(r"(else )?if ?\(.*;$")
_FUNCTION = re.compile(r"(static )?(void|double|int) \w+\(")
_LINE = re.compile(rf"_R(\d+)_(\d+)_\((\d+\.\d+)ms\)(?:_({'|'.join(_KINDS)}))?")


def listing(text: str) -> tuple[str, str]:
    """The program and its header, out of the whole text."""
    body = text[text.rindex("B.1 sctp_trace.c") :]
    program, _, header = body.partition("B.2 sctp_trace.h")
    code = _mended(_code(program))
    for garbled, right in BRACES:
        code = code.replace(garbled, right)
    before, _, rest = code.partition("void print_retr(){")
    # The sums that it prints at the end are garbled beyond mending; each retransmission is printed before.
    code = f"{before}void print_retr(){{}}\nint main({rest.partition('int main(')[2]}"
    return _balanced(code) + END, _closed(_mended(_code(header)))


def _code(text: str) -> list[str]:
    """The lines of code blocks, without the numbers of the print, wrapped lines joined."""
    lines: list[str] = []
    inside, wrapped = False, False
    for line in text.split("\n"):
        if line.startswith("```"):
            inside = not inside
            continue
        bare = " ".join(re.sub(r"^\s*\d{1,3}(?=\s|$)", "", line).split())
        if not inside or not bare:
            continue
        goes_on = (
            _ARROW.match(bare) or re.fullmatch(r"\w+;", bare) or (lines and lines[-1].startswith("#define"))
        )
        bare = _ARROW.sub("", bare)
        broken = _BREAK.search(bare)
        bare = bare[: broken.start()] if broken else bare
        if wrapped and goes_on:
            lines[-1] += f" {bare}"
        else:
            lines.append(bare)
        wrapped = broken is not None or re.fullmatch(r"#define \S+", bare) is not None
    return lines


def _mended(lines: Sequence[str]) -> str:
    found = []
    for line in lines:
        for pattern, right in MENDED:
            line = re.sub(pattern, right, line)
        found.append(line)
    return "\n".join(found)


def _balanced(code: str) -> str:
    """The program with the braces that the reading lost at the end of a function."""
    lines: list[str] = []
    depth = 0
    for line in code.split("\n"):
        if _FUNCTION.match(line):
            lines.append("}" * depth)
            depth = 0
        before = next((one for one in reversed(lines) if not one.startswith("/*")), "")
        closed = before.endswith("}") or before.startswith("}") or _BRANCH.match(before)
        if line.startswith("else") and not (closed or lines[-1].startswith("}")):
            # A brace alone, where the print has the number of its line.
            lines.append("}")
            depth -= 1
        depth += line.count("{") - line.count("}")
        lines.append(line)
    return "\n".join(lines)


def _closed(header: str) -> str:
    """The header with the ends of structures that the reading lost at the ends of pages."""
    lines, inside = [], False
    for line in header.split("\n"):
        if inside and re.match(r"struct \w+ ?\{", line):
            lines.append("};")
        inside = (inside or re.match(r"struct \w+ ?\{", line) is not None) and not line.startswith("};")
        lines.append(line)
    return "\n".join([*lines, "};"] if inside else lines)


def build(folder: Path, modified: bool = False) -> Path:
    """Compiles the program; `modified` for the modified protocol, as the header's constant has it."""
    program, header = listing(Path(TEXT).read_bytes().decode())
    (folder / "pcap.h").write_text(PCAP)
    (folder / "sctp_trace.h").write_text(re.sub(r"(TEST_MODIFIED_SCTP) 0", rf"\1 {int(modified)}", header))
    (folder / "sctp_trace.c").write_text(program)
    out = folder / "sctp_trace"
    command = ["cc", "-w", "-O1", f"-I{folder}", str(folder / "sctp_trace.c"), "-o", str(out), "-lm"]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return out


def run(program: Path, capture: Path) -> list[Resent]:
    """What the program prints of each retransmission."""
    out = subprocess.run([str(program), str(capture)], capture_output=True, text=True, check=False).stdout
    found = []
    for line in out.splitlines():
        for number, tsn, ms, kind in _LINE.findall(line):
            # The routine for the modified protocol counts a further chunk with a report as fast, silently.
            found.append(Resent(int(tsn), int(number), float(ms), _KINDS[kind] if kind else "fast"))
    return found


def write_pcap(pcapng: Path, out: Path) -> None:
    """A pcapng file as the program reads it: microseconds, Ethernet."""
    raw, place, records = pcapng.read_bytes(), 0, []
    link, unit = 1, 10**6
    while place < len(raw):
        kind, size = struct.unpack_from("<II", raw, place)
        if kind == 1:
            (link,) = struct.unpack_from("<H", raw, place + 8)
            at, end = place + 16, place + size - 4
            while at < end:
                code, length = struct.unpack_from("<HH", raw, at)
                if code == 9:
                    unit = 10 ** raw[at + 4]
                at += 4 + (length + 3) // 4 * 4
        elif kind == 6:
            _, high, low, caught, length = struct.unpack_from("<5I", raw, place + 8)
            packet = raw[place + 28 : place + 28 + caught]
            if link != 1:
                packet, length = bytes(12) + b"\x08\x00" + packet, length + 14
            time = ((high << 32) | low) * 10**6 // unit
            records.append(struct.pack("<4I", *divmod(time, 10**6), len(packet), length) + packet)
        place += size
    out.write_bytes(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1) + b"".join(records))
