// What the installer runs: a file of the schema, taken apart into its statements.
import type { Statement } from "@pgque/sql";

/**
 * The statements of a file of the schema.
 *
 * @throws Error when a statement is of no kind that the installer knows how to upgrade
 */
export function statementsOf(file: string, text: string): Statement[] {
  return split(text).map((sql) => ({ file, sql, kind: kindOf(file, sql) }));
}

function kindOf(file: string, sql: string): Statement["kind"] {
  if (file === "core/jit.sql") return "setting";
  if (file === "access/privileges.sql") return "right";
  if (/^(create( or replace)?\s+(function|procedure|view)|do)\b/i.test(sql)) return "routine";
  if (/^(create\s+(table|type|domain|(unique\s+)?index|sequence)|alter\s+table|comment|insert|select)\b/i.test(sql))
    return "object";
  const start = JSON.stringify(sql.slice(0, 60));
  throw new Error(
    `expected ${file} to hold statements that create, alter a table, comment, insert, select or do, found ${start}: an upgrade would not know whether to run it again`,
  );
}

// What is one thing to the lexer: comments (those in /* */ are matched by hand, for they nest), strings, quoted names, and words.
const lineComment = /--[^\n]*/y;
const escapeString = /e'(?:[^'\\]|\\.|'')*'/isy;
const plainString = /'(?:[^']|'')*'/y;
const quotedName = /"(?:[^"]|"")*"/y;
const dollarTag = /\$(?:[a-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/iy;
const word = /[a-z_\u0080-\uffff][\w$\u0080-\uffff]*/iy;

/** The statements of a script, without comments between them: a semicolon ends one where it is in no text and no body. */
function split(text: string): string[] {
  const found: string[] = [];
  let [start, at, bodies] = [0, 0, 0];
  let words: string[] = [];
  const matched = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    return pattern.exec(text)?.[0];
  };
  const end = (): void => {
    const sql = text.slice(start, at).trim();
    if (sql !== "") found.push(sql);
    [bodies, words] = [0, []];
  };
  while (at < text.length) {
    const comment = matched(lineComment) ?? blockComment(text, at);
    if (comment !== undefined) {
      at += comment.length;
      // before the first word a comment belongs to no statement
      if (text.slice(start, at - comment.length).trim() === "") start = at;
      continue;
    }
    const quoted =
      matched(escapeString) ??
      matched(plainString) ??
      matched(quotedName) ??
      dollarQuoted(text, at, matched(dollarTag));
    if (quoted !== undefined) {
      at += quoted.length;
      continue;
    }
    const name = matched(word)?.toLowerCase();
    if (name !== undefined) {
      words.push(name);
      bodies = Math.max(0, bodies + opens(words, bodies));
      at += name.length;
      continue;
    }
    if (text[at] === ";" && bodies === 0) {
      end();
      start = at + 1;
    }
    at++;
  }
  end();
  return found;
}

/** Whether the last word begins or ends a body that has semicolons of its own: BEGIN ATOMIC … END, in which CASE … END is another. */
function opens(words: readonly string[], bodies: number): -1 | 0 | 1 {
  const last = words.at(-1);
  if (last === "atomic" && words.at(-2) === "begin" && words[0] === "create") return 1;
  if (bodies === 0) return 0;
  return last === "case" ? 1 : last === "end" ? -1 : 0;
}

/** The text from one dollar tag to the next of the same name. */
function dollarQuoted(text: string, at: number, tag: string | undefined): string | undefined {
  // $1 is no tag, nor is what ends a name: a$b$
  if (tag === undefined || /[\w\u0080-\uffff]/.test(text[at - 1] ?? " ")) return undefined;
  const end = text.indexOf(tag, at + tag.length);
  return text.slice(at, end < 0 ? text.length : end + tag.length);
}

function blockComment(text: string, from: number): string | undefined {
  if (!text.startsWith("/*", from)) return undefined;
  let [at, depth] = [from + 2, 1];
  while (depth > 0 && at < text.length) {
    const [opening, closing] = [text.startsWith("/*", at), text.startsWith("*/", at)];
    depth += opening ? 1 : closing ? -1 : 0;
    at += opening || closing ? 2 : 1;
  }
  return text.slice(from, at);
}
