// Control characters move the cursor, color the terminal or begin a line; bidirectional ones show a text in another order than it has.
// eslint-disable-next-line no-control-regex
const unsafe = /[\u0000-\u001F\u007F-\u009F\u2028-\u202E\u2066-\u2069]/g;

/** Text of others on one line, as a terminal may be given it: what could do something to it becomes an escape, `\u001b`. */
export function sanitize(text: string): string {
  return text.replaceAll(unsafe, escaped);
}

/** The same of text that has lines of its own: line ends stay. JSON stays the JSON that it is. */
export function sanitizeLines(text: string): string {
  return text.replaceAll(unsafe, (control) => (control === "\n" ? control : escaped(control)));
}

function escaped(control: string): string {
  return `\\u${control.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
