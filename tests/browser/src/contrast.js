const channels = (text) => (text.match(/[\d.]+/g) || []).map(Number);
const luminance = (rgb) => {
  const [r, g, b] = rgb.map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ground = (element) => {
  for (let at = element; at; at = at.parentElement) {
    const rgba = channels(getComputedStyle(at).backgroundColor);
    if (rgba.length === 3 || rgba[3] === 1) return rgba.slice(0, 3);
  }
  return channels(getComputedStyle(document.body).backgroundColor);
};
const faint = [];
for (const element of document.querySelectorAll("body *:not(script)")) {
  const text = [...element.childNodes].filter((n) => n.nodeType === 3).map((n) => n.data.trim()).join("");
  if (!text || !element.getClientRects().length) continue;
  const [a, b] = [channels(getComputedStyle(element).color).slice(0, 3), ground(element)].map(luminance);
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < 4.5) faint.push(`${ratio.toFixed(2)} ${text.slice(0, 40)}`);
}
return faint.slice(0, 10);
