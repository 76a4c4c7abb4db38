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
 * property is left out as usual, anything else that would not arrive as it was sent is an error.
 *
 * @throws NotJson
 */
export function toJson(value: unknown): string {
  checkJson(value, [], []);
  return JSON.stringify(value);
}

function checkJson(value: unknown, path: PropertyKey[], ancestors: object[]): void {
  switch (typeof value) {
    case "string":
    case "boolean":
      return;
    case "number":
      if (!Number.isFinite(value)) throw new NotJson(`${value} is not a JSON number`, [...path]);
      return;
    case "object":
      if (value !== null) checkObject(value, path, ancestors);
      return;
    case "bigint":
      throw new NotJson("a bigint is not JSON: send it as a string", [...path]);
    default:
      throw new NotJson(`${typeof value === "undefined" ? "undefined" : `a ${typeof value}`} is not JSON`, [...path]);
  }
}

function checkObject(value: object, path: PropertyKey[], ancestors: object[]): void {
  if (ancestors.includes(value)) throw new NotJson("a circular reference is not JSON", [...path]);
  if (ArrayBuffer.isView(value)) throw new NotJson("binary data is not JSON: send it as base64", [...path]);
  if (value instanceof Date && Number.isNaN(value.valueOf()))
    throw new NotJson("an invalid date is not JSON", [...path]);
  ancestors.push(value);
  const json: unknown =
    "toJSON" in value && typeof value.toJSON === "function" ? value.toJSON(String(path.at(-1) ?? "")) : value;
  if (typeof json === "object" && json !== null) checkMembers(json, path, ancestors);
  else checkJson(json, path, ancestors);
  ancestors.pop();
}

function checkMembers(value: object, path: PropertyKey[], ancestors: object[]): void {
  // no pairs are made of keys and members: for many small objects that is most of the work
  const keys = Array.isArray(value) ? value.keys() : Object.keys(value);
  let members = 0;
  for (const key of keys) {
    members += 1;
    const member: unknown = (value as Record<PropertyKey, unknown>)[key];
    if (member === undefined && !Array.isArray(value)) continue;
    path.push(key);
    checkJson(member, path, ancestors);
    path.pop();
  }
  if (members === 0 && !isPlain(value)) {
    throw new NotJson(`a ${value.constructor?.name ?? "class instance"} is not JSON: it would become {}`, [...path]);
  }
}

/** An array or an object literal, whichever realm it comes from. */
export function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return Array.isArray(value) || prototype === null || Object.getPrototypeOf(prototype) === null;
}
