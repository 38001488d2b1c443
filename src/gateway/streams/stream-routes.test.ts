import assert from "node:assert/strict";
import { test } from "node:test";
import { permittedServices, readStreamParameters, type StreamParameters } from "./stream-routes.ts";

const read = (query: string) => readStreamParameters(new URLSearchParams(query));
const all = { services: undefined, follow: false, tail: undefined };

test("stream parameters of the network's clients are parsed", () => {
  const valid: readonly [string, StreamParameters][] = [
    ["", all],
    ["service=&services=&follow=&tail=", all],
    ["service=web", { ...all, services: new Set(["web"]) }],
    ["services=web", { ...all, services: new Set(["web"]) }],
    ["service=web, api&services=db", { ...all, services: new Set(["web", "api"]) }],
    ["service=web&service=api", { ...all, services: new Set(["web"]) }],
    ["follow=T&tail=%2B5", { ...all, follow: true, tail: 5 }],
    ["follow=False&tail=0", { ...all, tail: 0 }],
    ["tail=-1", all],
    ["tail=2147483647", { ...all, tail: 2147483647 }],
  ];
  for (const [query, parameters] of valid) assert.deepEqual(read(query), parameters, query);
});

test("invalid parameters → the Go provider's error", () => {
  const invalid: readonly [string, string][] = [
    ["service=web,", 'parameter "service" must not contain trailing comma'],
    ["services=,", 'parameter "service" must not contain trailing comma'],
    ["follow=yes", 'strconv.ParseBool: parsing "yes": invalid syntax'],
    ["tail=1.5", 'strconv.ParseInt: parsing "1.5": invalid syntax'],
    ["tail=2147483648", 'strconv.ParseInt: parsing "2147483648": value out of range'],
    ["tail=-2", 'parameter "tail" contains invalid value'],
    ["tail=constructor", 'strconv.ParseInt: parsing "constructor": invalid syntax'],
  ];
  for (const [query, words] of invalid) {
    const answer = read(query);
    assert("status" in answer, query);
    assert.deepEqual([answer.status, answer.body], [400, `${words}\n`]);
  }
});

test("token for some services → those; another named one → 401", () => {
  const given = new Set(["web", "api"]);
  assert.equal(permittedServices(undefined, given), given);
  assert.deepEqual(permittedServices(new Set(["api"]), given), new Set(["api"]));
  assert.deepEqual(permittedServices(new Set(["db"]), undefined), new Set(["db"]));
  assert.throws(() => permittedServices(new Set(["api", "db"]), given), /unauthorized access/);
});
