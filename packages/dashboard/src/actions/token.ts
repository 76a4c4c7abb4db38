import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";

/** A confirmation that was shown longer ago no longer says what is the case. */
const validMs = 15 * 60_000;

/** Says that a confirmation was shown by this dashboard, to this operator, of exactly this. */
export class Tokens {
  readonly #secret: string | Buffer;

  /** @param secret absent: a random one of this process */
  constructor(secret: string | undefined) {
    this.#secret = secret ?? randomBytes(32);
  }

  issue(parts: readonly string[], nowMs = Date.now()): string {
    const expires = (nowMs + validMs).toString(36);
    return `${expires}.${this.#sign(expires, parts).toString("base64url")}`;
  }

  /** Undefined: it is right. Otherwise what was found. */
  problem(token: string | undefined, parts: readonly string[], nowMs = Date.now()): string | undefined {
    if (token === undefined || token === "") return "none";
    const [, expires = "", mac = ""] = /^([0-9a-z]{1,12})\.([\w-]{43})$/.exec(token) ?? [];
    const given = Buffer.from(mac, "base64url");
    const expected = this.#sign(expires, parts);
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return "another one";
    return Number.parseInt(expires, 36) < nowMs ? "one that is older than 15 min" : undefined;
  }

  #sign(expires: string, parts: readonly string[]): Buffer {
    return createHmac("sha256", this.#secret)
      .update(JSON.stringify([expires, ...parts]))
      .digest();
  }
}

/**
 * Whether a page of the dashboard itself has sent the form. The browser says so by Sec-Fetch-Site, which pages cannot set; over plain HTTP
 * it does not, and says where the form is from by Origin.
 *
 * @returns undefined: it has. Otherwise what was found
 */
export function foreignOrigin(request: Request): string | undefined {
  const site = request.headers.get("sec-fetch-site");
  if (site !== null) return site === "same-origin" ? undefined : `Sec-Fetch-Site: ${site.slice(0, 20)}`;
  const origin = request.headers.get("origin");
  if (origin === null) return "neither Sec-Fetch-Site nor Origin";
  const host = request.headers.get("host") ?? new URL(request.url).host;
  return URL.canParse(origin) && new URL(origin).host === host ? undefined : `Origin: ${origin.slice(0, 200)}`;
}
