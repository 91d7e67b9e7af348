"""A page's layout in a browser: text that overlaps or is cut off, and its outline as a screen reader reads it."""

from typing import Any, Final

from tests.support.chromium import Page

OUTLINE: Final = ("banner", "navigation", "main", "search", "contentinfo", "heading", "table")
# A line's box is a little higher than its letters. What lies beyond a box that scrolls can be scrolled to, and what an
# ellipsis shortens is meant to be (a frame of a flame graph).
_FAULTS: Final = """(() => {
  const faults = [], lines = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = texts.nextNode()); ) {
    const parent = node.parentElement, text = node.data.trim().slice(0, 60);
    if (!text || parent.closest('svg, option') || !parent.checkVisibility({ visibilityProperty: true })) continue;
    if (getComputedStyle(parent).textOverflow === 'ellipsis') continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const { left, right, top, bottom } of range.getClientRects()) {
      let shown = { left, right, top, bottom }, cut = right > innerWidth + 1 || left < -1;
      for (let box = parent; box !== document.body; box = box.parentElement) {
        const style = getComputedStyle(box).overflowX;
        if (style === 'visible') continue;
        const clip = box.getBoundingClientRect();
        cut = style === 'hidden' && clip.width > 1 && (right > clip.right + 1 || left < clip.left - 1);
        shown = { ...shown, left: Math.max(shown.left, clip.left), right: Math.min(shown.right, clip.right) };
      }
      if (cut) faults.push(`cut off: ${text}`);
      if (shown.right - shown.left > 2) lines.push({ ...shown, text });
    }
  }
  lines.sort((one, other) => one.top - other.top);
  lines.forEach((one, i) => {
    for (const other of lines.slice(i + 1)) {
      if (other.top >= one.bottom) break;
      const wide = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      const high = Math.min(one.bottom, other.bottom) - other.top;
      if (wide > 2 && high > 0.4 * Math.min(one.bottom - one.top, other.bottom - other.top))
        faults.push(`on each other: ${one.text} | ${other.text}`);
    }
  });
  const wider = document.documentElement.scrollWidth - innerWidth;
  return wider > 0 ? [...faults, `the page is ${wider} pixels wider than the screen`] : faults;
})()"""


def layout_faults(page: Page) -> list[str]:
    """Return the text that overlaps other text, that is cut off, or that makes the page wider than the screen."""
    faults: list[str] = page.value(_FAULTS)
    return faults


def outline(page: Page) -> list[str]:
    """Return landmarks, headings and tables in order, each as `role name`."""
    nodes = {node["nodeId"]: node for node in page.call("Accessibility.getFullAXTree")["nodes"]}
    left = [next(iter(nodes))]
    told = []
    while left:
        node: dict[str, Any] = nodes[left.pop()]
        left += reversed([child for child in node.get("childIds", ()) if child in nodes])
        role = node.get("role", {}).get("value")
        if not node["ignored"] and role in OUTLINE:
            told.append(f"{role} {node.get('name', {}).get('value', '')}".strip())
    return told
