import { createHash, randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import { PgqueError } from "@pgque/client";
import type { Authorize } from "../dashboard.ts";

/** What scrypt takes for a password here: 32 MiB and a tenth of a second. */
const cost = { N: 32_768, r: 8, p: 1, maxmem: 64 * 1024 * 1024 };

/**
 * What `basicAuth` compares a password with, safe to keep in a file: `scrypt$N$r$p$salt$hash`.
 *
 * @example
 * process.stdout.write(await hashPassword(password));
 */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const key = await derive(password, salt);
  return ["scrypt", cost.N, cost.r, cost.p, salt.toString("base64url"), key.toString("base64url")].join("$");
}

/**
 * Lets in who has the password, by basic authentication and any user name. Only over TLS or on the same machine: browsers send it as it is.
 *
 * @param hash what `hashPassword` made
 * @throws PgqueError INVALID_OPTION
 * @example
 * const dashboard = createDashboard(pgque, { authorize: basicAuth(process.env["PGQUE_DASHBOARD_PASSWORD_HASH"]) });
 */
export function basicAuth(hash: string | undefined): Authorize {
  const [, salt = "", key = ""] = form.exec(hash?.trim() ?? "") ?? [];
  // what is not understood may be the password itself
  if (key === "") {
    throw new PgqueError(
      "INVALID_OPTION",
      "expected the password's hash to be of the form scrypt$32768$8$1$salt$hash, got one of another form",
      {
        hint: "`pgque dashboard --hash-password` makes one of the password on standard input",
      },
    );
  }
  const expected = Buffer.from(key, "base64url");
  let known: Buffer | undefined;
  let last: Promise<unknown> = Promise.resolve();
  const isRight = async (password: string): Promise<boolean> => {
    const digest = createHash("sha256").update(salt).update(password).digest();
    // each page has several requests, and scrypt is slow on purpose
    if (known !== undefined && timingSafeEqual(known, digest)) return true;
    // one at a time: guesses must not take all threads
    const derived = last.then(() => derive(password, Buffer.from(salt, "base64url")));
    last = derived.catch(() => undefined);
    const right = timingSafeEqual(await derived, expected);
    if (right) known = digest;
    return right;
  };
  return async (request) => {
    const { password } = credentialsOf(request.headers.get("authorization") ?? "") ?? {};
    if (password !== undefined && (await isRight(password))) return true;
    const headers = { "www-authenticate": 'Basic realm="Pgque", charset="UTF-8"', "cache-control": "no-store" };
    return new Response("A password is needed.\n", { status: 401, headers });
  };
}

/**
 * The user name of basic authentication, for the audit log: behind `basicAuth` whoever has the password says who they are.
 *
 * @returns undefined: there is none
 * @example
 * createDashboard(pgque, { authorize: basicAuth(hash), operator: { who: basicUser, pgque: operators, audit } });
 */
export function basicUser(request: Request): string | undefined {
  return credentialsOf(request.headers.get("authorization") ?? "")?.user || undefined;
}

const form = /^scrypt\$32768\$8\$1\$([\w-]{22})\$([\w-]{43})$/;

function credentialsOf(header: string): { user: string; password: string } | undefined {
  const [, encoded] = /^Basic ([A-Za-z0-9+/=]{1,2000})$/i.exec(header) ?? [];
  if (encoded === undefined) return undefined;
  const [, user = "", password] = /^([^:]*):(.*)$/s.exec(Buffer.from(encoded, "base64").toString("utf8")) ?? [];
  return password === undefined ? undefined : { user, password };
}

function derive(password: string, salt: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(password.normalize("NFC"), salt, 32, cost, (error, key) => (error ? reject(error) : resolve(key)));
  });
}
