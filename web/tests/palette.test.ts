import assert from "node:assert/strict";
import { test } from "node:test";
import { channels, contrast, hex, inkOn, looks, MARKERS, PAPER, readable } from "../src/ui/palette";
import { INK, markerPath, Scene } from "../src/ui/scene";
import { viridis } from "../src/ui/viridis";

const THEMES = ["light", "dark"] as const;

/** How different two colours look (CIE76, in CIELAB). */
function apart(one: string, other: string): number {
  const [a, b] = [lab(one), lab(other)];
  return Math.hypot(...a.map((part, at) => part - b[at]));
}

function lab(colour: string): number[] {
  const [r, g, b] = channels(colour).map((channel) => {
    const share = channel / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  const [x, y, z] = [
    (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505,
    0.2126 * r + 0.7152 * g + 0.0722 * b,
    (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089,
  ].map((part) => (part > 0.008856 ? Math.cbrt(part) : 7.787 * part + 16 / 116));
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

test("contrast is that of WCAG", () => {
  assert.equal(contrast("#000000", "#ffffff"), 21);
  assert.equal(contrast("#ffffff", "#ffffff"), 1);
  assert.ok(Math.abs(contrast("#777777", "#ffffff") - 4.478) < 0.001);
  assert.deepEqual([inkOn("#fde725"), inkOn("#440154")], ["#000000", "#ffffff"]);
  for (let share = 0; share <= 1; share += 0.05)
    assert.ok(contrast(inkOn(viridis(share)), viridis(share)) >= 4.5);
});

for (const theme of THEMES) {
  test(`every curve is seen on ${theme} paper`, () => {
    for (const ordered of [false, true])
      for (let count = 1; count <= 40; count++)
        for (const { colour } of looks(count, ordered, theme)) {
          assert.match(colour, /^#[0-9a-f]{6}$/);
          assert.ok(contrast(colour, PAPER[theme]) >= 3, `${colour} of ${count}`);
        }
  });

  test(`words are read on ${theme} paper`, () => {
    assert.ok(contrast(INK[theme].text, PAPER[theme]) >= 7);
    assert.ok(contrast(INK[theme].soft, PAPER[theme]) >= 4.5);
    assert.ok(contrast(INK[theme].axis, PAPER[theme]) >= 3);
    assert.equal(INK[theme].paper, PAPER[theme]);
  });

  test(`names have colours that are far apart on ${theme} paper`, () => {
    const colours = looks(7, false, theme).map((look) => look.colour);
    for (const [at, one] of colours.entries())
      for (const other of colours.slice(at + 1)) assert.ok(apart(one, other) > 12, `${one} and ${other}`);
  });

  test(`no two of 40 curves look the same on ${theme} paper`, () => {
    for (const ordered of [false, true]) {
      const seen = looks(40, ordered, theme).map(({ colour, marker, dash }) => `${colour} ${marker} ${dash}`);
      assert.equal(new Set(seen).size, 40);
    }
  });

  test(`neighbours of ten shades are told apart on ${theme} paper`, () => {
    const shades = looks(10, true, theme).map((look) => look.colour);
    for (let at = 1; at < shades.length; at++)
      assert.ok(apart(shades[at], shades[at - 1]) > 6, `${shades[at - 1]} and ${shades[at]}`);
  });
}

test("a colour that is seen already stays as it is", () => {
  assert.equal(readable("#0072b2", "#ffffff", 3), "#0072b2");
  assert.ok(contrast(readable("#ffffff", "#ffffff", 4.5), "#ffffff") >= 4.5);
  assert.ok(contrast(readable("#16181c", "#16181c", 4.5), "#16181c") >= 4.5);
});

test("viridis goes from dark to light, and stays at its ends", () => {
  assert.deepEqual(
    [viridis(0), viridis(1), viridis(-1), viridis(2)],
    ["#440154", "#fde725", "#440154", "#fde725"],
  );
  const light = Array.from({ length: 101 }, (_, at) => lab(viridis(at / 100))[0]);
  light.forEach((value, at) => assert.ok(at === 0 || value > light[at - 1] - 0.3, `at ${at}`));
  assert.equal(hex(channels("#0a0b0c")), "#0a0b0c");
});

test("texts in a drawing are texts, whatever they have in them", () => {
  const scene = new Scene(100, 50);
  scene.text(1.004, 2, `<b>"R&D"</b> & 'more' ]]> é 漢 🚀`, { colour: "#000000" });
  const svg = scene.toString();
  assert.ok(svg.includes(`>&lt;b&gt;"R&amp;D"&lt;/b&gt; &amp; 'more' ]]&gt; é 漢 🚀</text>`), svg);
  assert.ok(svg.includes('x="1" y="2"'));
});

test("what XML cannot have is replaced, so that a picture comes out", () => {
  const scene = new Scene(100, 50);
  scene.text(0, 0, "a\u0000b\u001bc\ud83dd\uffffe\tf", { colour: "#000000" });
  const svg = scene.toString();
  assert.ok(svg.includes(">a\ufffdb\ufffdc\ufffdd\ufffde\tf</text>"), svg);
  assert.doesNotThrow(() => encodeURIComponent(svg));
});

test("parts of drawings on one page do not take each other's names", () => {
  const ids = [1, 2].flatMap(() => {
    const scene = new Scene(10, 10);
    for (let turn = 0; turn < 2; turn++)
      scene.clipped({ x: 0, y: 0, w: 5, h: 5 }, () => scene.path("M0 0h5", { colour: "red", width: 1 }));
    return [...scene.toString().matchAll(/<clipPath id="([^"]+)"/g)].map((match) => match[1]);
  });
  assert.equal(new Set(ids).size, 4);
});

test("a drawing has no path of nothing, and its paper only where asked for", () => {
  const scene = new Scene(10, 20);
  scene.path("", { colour: "#000000", width: 1 });
  assert.ok(!scene.toString().includes("<path") && !scene.toString().includes("<rect"));
  assert.ok(scene.toString("#ffffff").includes('<rect width="100%" height="100%" fill="#ffffff"/>'));
});

test("markers are closed outlines of numbers, no two alike", () => {
  const paths = MARKERS.map((marker) => markerPath(marker, 10, 20, 3));
  for (const path of paths) assert.match(path, /^M[-\d. LaZ]+Z$/);
  assert.equal(new Set(paths).size, MARKERS.length);
});
