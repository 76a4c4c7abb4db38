// user:password@ after a scheme. A password that was not percent-encoded may hold anything: it goes on to the last @ of the word, or to the first
// one if a quote stands between, as in JSON.
const inUrl = /([a-z][a-z0-9+.-]*:\/\/[^\s:/@"]*:)(?:[^\s"]*|\S*?)@/gi;
// The same without a scheme: app:secret@db/x.
const withoutScheme = /(^|[\s"'`=(<,])([^\s:/@"'`=(<,]+:)(?!\/\/)[^\s"]+@/g;
// password=… of libpq's key and value pairs and of a URL's query: up to a space or the next parameter, or quoted with backslashes. Also
// "password": "…" of JSON, with backslashes if that is within a string, and password: '…' as Node prints an object.
const asValue =
  /((?:ssl)?password\\*["']?\s*(?:=|:(?=\s*\\*["']))\s*)(?:(\\+)".*?(?:(?<!\\)\2"|$)|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s&"',;}]+)/gis;
const privateKey = /(-----BEGIN [A-Z ]*PRIVATE KEY-----)[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g;

/** What stands where a secret stood. */
const mask = "****";
/** What our own messages name as the form of a connection string: no secret. */
const examples = /user:password@host/g;
const kept = "user\u0000password\u0000host";

/**
 * A text without the passwords of connection strings and the private keys in it: URLs, with and without a scheme, key and value pairs as libpq has
 * them, JSON. Rather too much is hidden than too little. What has been redacted stays as it is.
 */
export function redact(text: string): string {
  // what a mask leaves beside it may look like a secret again
  for (let last = text; ; last = text) {
    text = masked(last);
    if (text === last) return text;
  }
}

function masked(text: string): string {
  return text
    .replaceAll("\u0000", "\\u0000")
    .replaceAll(examples, kept)
    .replaceAll(inUrl, `$1${mask}@`)
    .replaceAll(withoutScheme, `$1$2${mask}@`)
    .replaceAll(asValue, `$1${mask}`)
    .replaceAll(privateKey, `$1${mask}`)
    .replaceAll(kept, "user:password@host");
}

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
