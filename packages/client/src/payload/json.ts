import { types } from "node:util";

/** A value that JSON cannot carry, and where it was found. */
export class NotJson extends Error {
  readonly path: readonly PropertyKey[];

  constructor(message: string, path: readonly PropertyKey[]) {
    super(message);
    this.path = path;
  }
}

/**
 * The JSON text of a value. Stricter than JSON.stringify, which drops or changes in silence what it does not know: an undefined
 * property is left out as usual, anything else that would not arrive as it was sent is an error. Each `toJSON` is called once.
 *
 * @throws NotJson
 */
export function toJson(value: unknown): string {
  return JSON.stringify(plainJson(value, [], []));
}

/** The value itself, or a copy in which each `toJSON` has been replaced by what it returned. */
function plainJson(value: unknown, path: PropertyKey[], ancestors: object[]): unknown {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      if (!Number.isFinite(value)) throw new NotJson(`${value} is not a JSON number`, [...path]);
      return value;
    case "object":
      return value === null ? null : plainObject(value, path, ancestors);
    case "bigint":
      throw new NotJson("a bigint is not JSON: send it as a string", [...path]);
    default:
      throw new NotJson(`${typeof value === "undefined" ? "undefined" : `a ${typeof value}`} is not JSON`, [...path]);
  }
}

function plainObject(value: object, path: PropertyKey[], ancestors: object[]): unknown {
  if (ancestors.includes(value)) throw new NotJson("a circular reference is not JSON", [...path]);
  if (ArrayBuffer.isView(value)) throw new NotJson("binary data is not JSON: send it as base64", [...path]);
  if (value instanceof Date && Number.isNaN(value.valueOf()))
    throw new NotJson("an invalid date is not JSON", [...path]);
  ancestors.push(value);
  let json: unknown = value;
  let mustCopy = false;
  if ("toJSON" in value && typeof value.toJSON === "function") {
    json = value.toJSON(String(path.at(-1) ?? ""));
    mustCopy = true;
  }
  const plain =
    typeof json === "object" && json !== null
      ? plainMembers(json, mustCopy, path, ancestors)
      : plainJson(json, path, ancestors);
  ancestors.pop();
  return plain;
}

function plainMembers(value: object, mustCopy: boolean, path: PropertyKey[], ancestors: object[]): object {
  refuseContainer(value, path);
  // no pairs are made of keys and members: for many small objects that is most of the work
  const isArray = Array.isArray(value);
  const keys: Iterable<PropertyKey> = isArray ? value.keys() : Object.keys(value);
  let copy: object | undefined = mustCopy ? copyOf(value) : undefined;
  let members = 0;
  for (const key of keys) {
    members += 1;
    const member: unknown = (value as Record<PropertyKey, unknown>)[key];
    if (member === undefined && !isArray) continue;
    path.push(key);
    const plain = plainJson(member, path, ancestors);
    path.pop();
    if (plain !== member) copy ??= copyOf(value);
    if (copy !== undefined) (copy as Record<PropertyKey, unknown>)[key] = plain;
  }
  if (members === 0 && !isPlain(value)) throw becomesEmpty(value, path);
  return copy ?? value;
}

/** Members alone: neither a prototype with a `toJSON`, nor one that a member named `__proto__` could replace. */
function copyOf(value: object): object {
  return Array.isArray(value) ? [...value] : Object.assign(Object.create(null), value);
}

/** What such a thing holds is not in its members, whatever members the application has added. */
function refuseContainer(value: object, path: PropertyKey[]): void {
  const { isMap, isSet, isNativeError, isPromise, isRegExp, isAnyArrayBuffer, isWeakMap, isWeakSet } = types;
  const kinds = [isMap, isSet, isNativeError, isPromise, isRegExp, isAnyArrayBuffer, isWeakMap, isWeakSet];
  if (!isPlain(value) && kinds.some((is) => is(value))) throw becomesEmpty(value, path);
}

function becomesEmpty(value: object, path: PropertyKey[]): NotJson {
  const kind = value.constructor?.name ?? "class instance";
  return new NotJson(`${/^[AEIOU]/.test(kind) ? "an" : "a"} ${kind} is not JSON: it would lose what it holds`, [
    ...path,
  ]);
}

/** An array or an object literal, whichever realm it comes from. */
export function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return Array.isArray(value) || prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** `items[0].price`, as one would write it in code. */
export function pathOf(keys: readonly PropertyKey[]): string {
  return keys
    .map((key) => {
      if (typeof key === "number") return `[${key}]`;
      const name = String(key);
      return /^[\p{ID_Start}_$][\p{ID_Continue}$]*$/u.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
    })
    .join("")
    .replace(/^\./, "");
}
