import type { Page } from 'playwright-core';

/** Contrast that WCAG 2 asks for in normal text. */
const CONTRAST = 4.5;

/** Faults that would keep people from using the page: missing names, duplicate ids, texts that are too faint. */
export function accessibilityFaults(page: Page): Promise<string[]> {
  // Evaluated within the page, where the document is; as a text, since these tests know no DOM.
  return page.evaluate<string[]>(`(() => {
    const faults = [];
    const visible = (node) => node.checkVisibility({ visibilityProperty: true });
    const textOf = (id) => document.getElementById(id)?.textContent.trim() ?? '';
    const nameOf = (node) =>
      (node.getAttribute('aria-labelledby') ?? '').split(' ').map(textOf).join('') ||
      node.getAttribute('aria-label') ||
      [...(node.labels ?? [])].map((label) => label.textContent.trim()).join('') ||
      node.textContent.trim();
    if (document.documentElement.lang === '') faults.push('the page has no language');
    if (document.querySelectorAll('h1').length !== 1) faults.push('there is not one h1');
    for (const node of document.querySelectorAll('button, input, select, [role=img], table, dialog'))
      if (visible(node) && nameOf(node) === '') faults.push('no name: ' + node.outerHTML.slice(0, 80));
    const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id);
    for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) faults.push('id twice: ' + id);
    for (const node of document.querySelectorAll('[aria-labelledby], [aria-describedby]'))
      for (const name of ['aria-labelledby', 'aria-describedby'])
        for (const id of (node.getAttribute(name) ?? '').split(' ').filter(Boolean))
          if (!ids.includes(id)) faults.push(name + ' leads nowhere: ' + id);

    const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
    const paint = (colors) => {
      canvas.clearRect(0, 0, 1, 1);
      for (const color of colors) {
        canvas.fillStyle = color;
        canvas.fillRect(0, 0, 1, 1);
      }
      return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
    };
    const light = (channel) => {
      const part = channel / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    };
    const luminance = ([r, g, b]) => 0.2126 * light(r) + 0.7152 * light(g) + 0.0722 * light(b);
    const groundsOf = (node) => {
      const colors = [];
      for (let at = node; at !== null; at = at.parentElement) colors.unshift(getComputedStyle(at).backgroundColor);
      return colors;
    };
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let text = walker.nextNode(); text !== null; text = walker.nextNode()) {
      const node = text.parentElement;
      if (text.data.trim() === '' || !visible(node) || node.closest('.visually-hidden, :disabled, script, style')) continue;
      const style = getComputedStyle(node);
      const grounds = groundsOf(node);
      const color = node.namespaceURI.endsWith('svg') ? style.fill : style.color;
      const [a, b] = [paint([...grounds, color]), paint(grounds)].map(luminance).sort((x, y) => y - x);
      const contrast = (a + 0.05) / (b + 0.05);
      if (contrast < ${CONTRAST}) faults.push('contrast ' + contrast.toFixed(2) + ': ' + text.data.trim().slice(0, 40));
    }
    return [...new Set(faults)];
  })()`);
}

/** Texts of the charts that lie outside of their drawing or on each other. */
export function clippedTexts(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`(() => {
    const faults = [];
    for (const svg of document.querySelectorAll('figure svg')) {
      const frame = svg.getBoundingClientRect();
      const texts = [...svg.querySelectorAll('text')].map((node) => [node.textContent, node.getBoundingClientRect()]);
      texts.forEach(([text, box], i) => {
        if (box.left < frame.left - 1 || box.right > frame.right + 1) faults.push('clipped: ' + text);
        for (const [other, at] of texts.slice(i + 1))
          if (box.left < at.right && at.left < box.right && box.top + 3 < at.bottom && at.top + 3 < box.bottom)
            faults.push('on each other: ' + text + ', ' + other);
      });
    }
    return faults;
  })()`);
}
