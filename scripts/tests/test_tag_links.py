"""Tags on pages become links, each with its anchor; what leads nowhere is a warning."""

import logging
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from .conftest import load

Lay = Callable[[dict[str, str]], Path]

PROJECT = {
    "docs/rules/pipes.md": "EM-DN-1. A rule.\n\nEM-DN-2. Another.\n\n- **LK-IW-1** A third.\n",
    "studies/a-2001/published.csv": 'id,quantity,value,kind\nP-000-1,time,"<5",text\nP-000-4a,rate,7,text\n',
}


@pytest.fixture
def hook(lay: Lay, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The hook, in a small project."""
    module = load("tag_links.py")
    monkeypatch.setattr(module, "ROOT", lay(PROJECT))
    module.on_pre_build()
    return module


class Files:
    """Pages of a site, as MkDocs hands them to a hook."""

    def get_file_from_path(self, path: str) -> Any:
        """A page by its source."""
        return SimpleNamespace(url_relative_to=lambda _: "../../" + path.removesuffix(".md") + "/")


def shown(hook: Any, source: str, body: str) -> str:
    """What the hook makes of the body of a page."""
    page = SimpleNamespace(file=SimpleNamespace(src_uri=source))
    return str(hook.on_page_content(body, page=page, files=Files()))


def test_a_tag_becomes_a_link_to_its_definition(hook: Any) -> None:
    assert shown(hook, "guide/a.md", "<p>As <code>EM-DN-2</code> says.</p>") == (
        '<p>As <code><a class="tag" href="../../rules/pipes/#EM-DN-2">EM-DN-2</a></code> says.</p>'
    )


def test_a_tag_that_stands_for_several_leads_to_the_first(hook: Any) -> None:
    link = '<a class="tag" href="../../studies/a-2001/#P-000-4a">P-000-4</a>'
    assert link in shown(hook, "guide/a.md", "<p>P-000-4</p>")


@pytest.mark.parametrize(
    "body",
    [
        '<p><a href="x">EM-DN-1</a></p>',
        "<pre><code>EM-DN-1</code></pre>",
        "<h2>EM-DN-1</h2>",
        '<p><img alt="EM-DN-1"> EM-DN-n, XEM-DN-1</p>',
        "<script>EM-DN-1</script><!-- EM-DN-1 -->",
    ],
)
def test_links_titles_code_and_attributes_stay(hook: Any, body: str) -> None:
    assert shown(hook, "guide/a.md", body) == body


def test_only_the_definition_has_the_anchor(hook: Any) -> None:
    body = (
        "<p>EM-DN-1. A rule, see EM-DN-2.</p>\n<p>EM-DN-2. Another; EM-DN-1.</p>"
        "<li><strong>LK-IW-1</strong> A third.</li>"
    )
    text = shown(hook, "rules/pipes.md", body)
    anchors = [
        text.count(f'<a class="tag" id="{tag}" href="#{tag}">') for tag in ("EM-DN-1", "EM-DN-2", "LK-IW-1")
    ]
    assert anchors == [1, 1, 1]
    assert text.count('<a class="tag"') == 5


def test_rows_that_the_page_does_not_show_are_added(hook: Any) -> None:
    body = "<table><tr><td>P-000-4a</td><td>7</td></tr><tr><td>P-000-4a</td></tr></table>"
    text = shown(hook, "studies/a-2001.md", body)
    assert text.startswith('<table><tr><td><a class="tag" id="P-000-4a" href="#P-000-4a">P-000-4a</a></td>')
    assert text.endswith(
        "<details><summary>Rows of <code>published.csv</code> that no table above shows: 1</summary>"
        "<table><thead><tr><th></th><th>quantity</th><th>value</th></tr></thead><tbody>"
        '<tr><td><a class="tag" id="P-000-1" href="#P-000-1">P-000-1</a></td><td>time</td><td>&lt;5</td></tr>'
        "</tbody></table></details>"
    )
    assert text.count(' id="') == 2


def test_a_tag_that_leads_nowhere_is_a_warning(hook: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert shown(hook, "guide/a.md", "<p>EM-DN-3 and EM-DN-1</p>").startswith("<p>EM-DN-3 and <a ")
        shown(hook, "rules/pipes.md", "<p>Nothing is here.</p>")
        hook.on_env(None)
    assert [record.getMessage() for record in caplog.records] == [
        "guide/a.md: the tag EM-DN-3 is defined nowhere",
        "guide/a.md: the tag EM-DN-1 has no place on the page rules/pipes.md",
    ]


def test_a_link_to_an_anchor_is_no_warning(hook: Any, caplog: pytest.LogCaptureFixture) -> None:
    shown(hook, "guide/a.md", "<p>EM-DN-1</p>")
    shown(hook, "rules/pipes.md", "<p>EM-DN-1. A rule.</p>")
    hook.on_env(None)
    assert not caplog.records
