import assert from "node:assert/strict";
import { test } from "node:test";
import { hideSent } from "./requests.ts";

const secret = 'p&ss "w<rd"/1';
const go = (value: string) => JSON.stringify(value).replaceAll("&", "\\u0026").replaceAll("<", "\\u003c");
const containers = [
  {
    name: "web",
    env: [
      { name: "TOKEN", value: secret },
      { name: "SHORT", value: "yes" },
    ],
  },
];

/** Each has the secret in it, as what we send has. */
const bodies: Readonly<Record<string, unknown>> = {
  "a variable of a container": { spec: { template: { spec: { containers } } } },
  "a variable whose name was forgotten": { spec: { containers: [{ env: [{ name: secret }] }] } },
  "a variable of a manifest": { spec: { group: { services: [{ env: [`TOKEN=${secret}`] }] } } },
  "an argument": { spec: { containers: [{ command: ["run"], args: ["--token", secret] }] } },
  "the password of a registry": { spec: { group: { services: [{ credentials: { password: secret } }] } } },
  "a secret": { kind: "Secret", data: { key: secret } },
};

for (const [what, body] of Object.entries(bodies)) {
  test(`${what} is hidden in whatever words it comes back`, () => {
    const hide = hideSent(body);
    for (const way of [secret, JSON.stringify(secret), JSON.stringify(JSON.stringify(secret)), go(secret)]) {
      const shown = hide(`spec.env[0]: Invalid value: ${way}: no`);
      assert.match(shown, /^spec\.env\[0\]: Invalid value: \S{0,3}\[redacted\]\S{0,3}: no$/, way);
    }
  });
}

test("a long value is hidden where it was cut off too, and one that begins alike is hidden as a whole", () => {
  const [long, longer] = ["x".repeat(100_000), `${"x".repeat(100_000)}y`];
  const hide = hideSent({
    env: [
      { name: "A", value: long },
      { name: "B", value: longer },
    ],
  });
  assert.equal(hide(`Too long: ${longer.slice(0, 2_000)}`), "Too long: [redacted]");
  assert.equal(hide(`${longer}.`), "[redacted].");
});

test("ordinary words stay", () => {
  const hide = hideSent({ metadata: { name: "web" }, spec: { containers } });
  const text = 'Deployment.apps "web" is invalid: yes';
  assert.equal(hide(text), text);
  assert.equal(hideSent(undefined)(text), text);
});

test("one of thousands of variables is hidden wherever a long answer has it", () => {
  const env = Array.from({ length: 5_000 }, (_, at) => ({ name: `N${at}`, value: `value number ${at}` }));
  const hidden = hideSent({ env })("value number 4999, ".repeat(1_000));
  assert.equal(hidden, "[redacted], ".repeat(1_000));
});
