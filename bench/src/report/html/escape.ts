/** A piece of HTML, which is not escaped again. Made by `html` alone. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Value = string | number | Html | Value[];

/** HTML with every value in it escaped, for text and for attributes in quotes. What `html` made goes in as it is, lists in a row. */
export function html(strings: TemplateStringsArray, ...values: Value[]): Html {
  return new Html(strings.map((text, index) => text + written(values[index] ?? "")).join(""));
}

function written(value: Value): string {
  if (value instanceof Html) return value.text;
  if (Array.isArray(value)) return value.map(written).join("");
  return String(value).replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Our own script or style, to the letter: the page's policy knows it by its hash. */
export function rawElement(name: "script" | "style", text: string): Html {
  return new Html(`<${name}>${text}</${name}>`);
}

/** Data for a script, in an element of its own, which is found by its class: nothing in it can end the element. */
export function jsonElement(name: string, data: unknown): Html {
  const json = new Html(JSON.stringify(data).replaceAll("<", String.raw`\u003c`));
  return html`<script type="application/json" class="${name}">
    ${json}
  </script>`;
}
