import { isConnectionString, sanitize, redact } from "@pgque/client/redact";
import * as fc from "fast-check";
import { expect, test } from "vitest";

const secret = "s3cr3t";

test.each([
  "postgres://app:s3cr3t@db/x",
  "could not reach postgresql://app:s3cr3t@db:5432/x?sslmode=require, gave up",
  "app:s3cr3t@db/x",
  "DATABASE_URL=app:s3cr3t@db/x",
  "postgres://app:s3cr3t@one:5432,two:5433/x?target_session_attrs=any",
  "postgres://app:%73-s3cr3t%40@db/x",
  "postgres://app:a/s3cr3t@b:c#d@db/x",
  'postgres://app:a"s3cr3t@db/x',
  "postgres://db/x?user=app&password=s3cr3t&sslmode=require",
  "postgres://db/x?sslpassword=s3cr3t",
  "host=db password=s3cr3t user=app",
  "host=db password = 's3cr3t' user=app",
  "host=db password='it\\'s s3cr3t' user=app",
  "PGPASSWORD=s3cr3t psql",
  '{"host":"db","password":"s3cr3t","user":"app"}',
  '{"host":"db","password" : "a\\"s3cr3t"}',
  JSON.stringify({ text: JSON.stringify({ password: "s3cr3t" }) }),
  JSON.stringify({ url: "postgres://app:s3cr3t@db/x", mail: "a@b" }),
  "{ host: 'db', password: 's3cr3t', user: 'app' }",
  "-----BEGIN PRIVATE KEY-----\ns3cr3t\n-----END PRIVATE KEY-----",
])("hides the secret of %s", (text) => {
  expect(redact(text)).not.toContain(secret);
  expect(redact(text)).toContain("****");
});

test.each([
  "postgres://user:password@host:5432/database",
  "postgres://db/x?sslkey=/etc/client.key&passfile=/home/app/.pgpass&service=main",
  'password authentication failed for user "app"',
  "the password: it must be given",
  "orders@12:30 sent to a@b",
  '{"queue":"orders","at":"2026-01-01T00:00:00.000Z"}',
  "http://127.0.0.1:8080/health",
])("leaves %s as it is", (text) => {
  expect(redact(text)).toBe(text);
});

test("what stands around a secret stays", () => {
  expect(redact('{"url":"postgres://app:s3cr3t@db/x","user":"a@b"}')).toBe(
    '{"url":"postgres://app:****@db/x","user":"a@b"}',
  );
  expect(redact("host=db password=s3cr3t user=app")).toBe("host=db password=**** user=app");
  expect(redact("postgres://db/x?password=s3cr3t&sslmode=require")).toBe(
    "postgres://db/x?password=****&sslmode=require",
  );
});

test("what has been redacted stays as it is", () => {
  const word = fc.constantFrom(
    "postgres://",
    "app",
    ":",
    "@",
    "/",
    " ",
    '"',
    "'",
    "\\",
    "password",
    "=",
    "****",
    "user:password@host",
    "&",
    "\u0000",
  );
  fc.assert(
    fc.property(fc.array(word, { maxLength: 12 }), (words) => {
      const once = redact(words.join(""));
      expect(redact(once)).toBe(once);
    }),
  );
});

test("a password of any characters is hidden in a URL, percent-encoded or not, and in a quoted value", () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1, maxLength: 12, unit: "grapheme-ascii" }), (noise) => {
      const password = `${noise}${secret}`;
      const plain = password.replaceAll(/[\s"]/g, "");
      const quoted = password.replaceAll(/['\\]/g, "\\$&");
      expect(redact(`postgres://app:${encodeURIComponent(password)}@db/x`)).not.toContain(secret);
      expect(redact(`to postgres://app:${plain}@db/x failed`)).not.toContain(secret);
      expect(redact(`host=db password='${quoted}' user=app`)).not.toContain(secret);
      expect(redact(JSON.stringify({ password }))).not.toContain(secret);
      expect(redact(JSON.stringify(JSON.stringify({ password })))).not.toContain(secret);
    }),
  );
});

test("a text for a log is one line, without a character that a terminal acts on", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      // eslint-disable-next-line no-control-regex
      expect(sanitize(text)).not.toMatch(/[\u0000-\u001F\u007F-\u009F\u2028-\u202E\u2066-\u2069]/);
    }),
  );
});

test.each([
  ["postgres://app:s3cr3t@db/x", true],
  ["postgresql://app@one,two/x", true],
  ["postgres://app:a%40b@db/x?application_name=a@b", true],
  ["/var/run/postgresql app", true],
  ["socket:/var/run/postgresql?db=app", true],
  ["app", true],
  ["app:s3cr3t@db/x", false],
  ["//app:s3cr3t@db/x", false],
  ["host=db password=s3cr3t", false],
  ["postgres://app:1/s3cr3t@db/x", false],
  ["postgres://app:a#s3cr3t@db/x", false],
  ["mysql://app:s3cr3t@db/x", false],
])("%s is a connection string: %s", (text, is) => {
  expect(isConnectionString(text)).toBe(is);
});
