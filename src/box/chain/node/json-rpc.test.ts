import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../../../test/support/runs.ts";
import { silentLog } from "../../../runtime/log.ts";
import { createJsonRpc } from "./json-rpc.ts";
import { NodeError } from "./node-error.ts";
import { method, type Subscriber } from "./rpc-methods/method.ts";

const parameters = { height: "int64", page: "int", name: "text", prove: "flag", data: "hex", tx: "base64" } as const;

const rpc = createJsonRpc(
  {
    show: method(parameters, ({ height, page, name, prove, data, tx }) => ({
      height: height === undefined ? null : `${height}`,
      page: page ?? null,
      name,
      prove,
      data: Buffer.from(data).toString("hex"),
      tx: Buffer.from(tx).toString("hex"),
    })),
    reject: method({}, () => {
      throw new NodeError("not today");
    }),
    late: method({}, async () => "late"),
    listen: { ...method({}, () => ({})), websocketOnly: true },
  },
  silentLog,
);

const nothing = { height: null, page: null, name: "", prove: false, data: "", tx: "" };
const subscriber: Subscriber = {
  subscribe: () => undefined,
  unsubscribe: () => undefined,
  unsubscribeAll: () => undefined,
};

async function ask(request: unknown) {
  const { status, body } = await rpc.overHttp(JSON.stringify(request));
  return { status, answer: body === "" ? undefined : JSON.parse(body) };
}

async function uri(name: string, query = "") {
  const found = await rpc.overUri(name, new URLSearchParams(query));
  return found && { status: found.status, answer: JSON.parse(found.body) };
}

test("arguments come by name or in order; what is left out or null is the default", async () => {
  const request = { jsonrpc: "2.0", id: 7, method: "show" };
  const full = { height: "5", page: "2", name: "x", prove: true, data: "0a0B", tx: "CgsM" };
  const expected = { height: "5", page: 2, name: "x", prove: true, data: "0a0b", tx: "0a0b0c" };
  assert.deepEqual((await ask({ ...request, params: full })).answer, { jsonrpc: "2.0", id: 7, result: expected });
  assert.deepEqual((await ask({ ...request, params: Object.values(full) })).answer.result, expected);
  for (const params of [undefined, null, {}, { height: null, other: 5 }]) {
    assert.deepEqual((await ask({ ...request, params })).answer.result, nothing);
  }
});

test("arguments of the wrong kind are invalid params, worded like the real node's", async () => {
  const wrong: [params: unknown, reason: string][] = [
    [{ height: 5 }, 'invalid 64-bit integer encoding "5", expected string'],
    [{ height: "five" }, 'invalid 64-bit integer "five"'],
    [{ height: "9223372036854775808" }, "cannot unmarshal number 9223372036854775808 into Go value of type int64"],
    [{ name: 5 }, "cannot unmarshal number into Go value of type string"],
    [{ prove: "true" }, "cannot unmarshal string into Go value of type bool"],
    [{ data: "0x0a" }, "encoding/hex: invalid byte"],
    [{ data: "abc" }, "encoding/hex: odd length hex string"],
    [{ tx: "a-b_" }, "illegal base64 data"],
    [["5"], "expected 6 parameters ([height page name prove data tx]), got 1"],
    ["text", "Expected map or array"],
  ];
  for (const [params, reason] of wrong) {
    const { error, id } = (await ask({ id: "a", method: "show", params })).answer;
    assert.equal(id, "a");
    assert.equal(error.code, -32602);
    assert.equal(error.message, "Invalid params");
    assert.ok(error.data.startsWith("error converting json params to arguments: "), error.data);
    assert.ok(error.data.includes(reason), `${error.data} should say ${reason}`);
  }
});

test("in a URI text is quoted, numbers may be bare, and bytes are hex or quoted text", async () => {
  const shown = async (query: string) => (await uri("show", query))?.answer.result;
  assert.deepEqual(await shown("height=5"), { ...nothing, height: "5" });
  assert.deepEqual(await shown('height="5"&page=3'), { ...nothing, height: "5", page: 3 });
  assert.deepEqual(await shown('name="tx.height=5"&prove=true'), { ...nothing, name: "tx.height=5", prove: true });
  assert.deepEqual(await shown("name=0x6162&data=0x0A0B&tx=0X0c"), { ...nothing, name: "ab", data: "0a0b", tx: "0c" });
  assert.deepEqual(await shown('data="ab"&tx="ab"'), { ...nothing, data: "6162", tx: "6162" });
  for (const query of ["name=bare", "height=0x05", "height=five", "prove=maybe", "data=5", "tx=0xzz", "page=[1]"]) {
    const found = await uri("show", query);
    assert.equal(found?.status, 500, query);
    assert.equal(found?.answer.id, -1);
    assert.equal(found?.answer.error.code, -32602);
    assert.match(found?.answer.error.data, /^error converting http params to arguments: /);
  }
});

test("a method that rejects is an internal error with its words, over HTTP with status 200, by URI with 500", async () => {
  const error = { code: -32603, message: "Internal error", data: "not today" };
  assert.deepEqual(await ask({ id: 1, method: "reject" }), { status: 200, answer: { jsonrpc: "2.0", id: 1, error } });
  assert.deepEqual(await uri("reject"), { status: 500, answer: { jsonrpc: "2.0", id: -1, error } });
});

test("unknown methods, and those for sockets elsewhere, are not found", async () => {
  const error = { code: -32601, message: "Method not found" };
  for (const name of ["nothing", "listen", "constructor", "__proto__", ""]) {
    assert.deepEqual((await ask({ id: 1, method: name })).answer, { jsonrpc: "2.0", id: 1, error });
  }
  assert.equal(await uri("nothing"), undefined);
  assert.equal((await uri("listen"))?.status, 404);
  assert.deepEqual(JSON.parse((await rpc.overSocket('{"id":1,"method":"listen"}', subscriber)) ?? ""), {
    jsonrpc: "2.0",
    id: 1,
    result: {},
  });
});

test("a batch is answered in its order, without its notifications; a batch of one like a single request", async () => {
  const batch = [
    { id: 1, method: "late" },
    { method: "late" },
    { id: "two", method: "nothing" },
    { id: 3.7, method: "late" },
  ];
  const { answer } = await ask(batch);
  assert.deepEqual(
    answer.map(({ id, result, error }: { id: unknown; result?: unknown; error?: { code: number } }) => [
      id,
      result ?? error?.code,
    ]),
    [
      [1, "late"],
      ["two", -32601],
      [3, "late"],
    ],
  );
  assert.equal((await ask([{ id: 1, method: "late" }])).answer.result, "late");
  assert.deepEqual(await ask([]), { status: 200, answer: undefined });
  assert.deepEqual(await ask({ method: "late" }), { status: 200, answer: undefined });
});

test("a batch of more than ten is rejected as a whole", async () => {
  const { answer } = await ask(Array.from({ length: 11 }, (_, id) => ({ id, method: "late" })));
  assert.equal(answer.error.code, -32600);
  assert.equal(answer.error.data, "batch request exceeds maximum (10) allowed number of requests");
});

test("what cannot be read is a parse error without an id", async () => {
  for (const body of [
    "{",
    "nonsense",
    "5",
    '"text"',
    "[5]",
    '{"id":true,"method":"late"}',
    '{"id":1,"method":5}',
    "[[]]",
  ]) {
    const { status, body: text } = await rpc.overHttp(body);
    assert.equal(status, 500, body);
    const answer = JSON.parse(text);
    assert.deepEqual(Object.keys(answer), ["jsonrpc", "error"]);
    assert.equal(answer.error.code, -32700);
    assert.equal(answer.error.message, "Parse error. Invalid JSON");
    assert.match(answer.error.data, /^error unmarshaling request: /);
  }
});

test("over a socket, arguments of the wrong kind are an internal error, and there are no batches", async () => {
  const wrong = await rpc.overSocket('{"id":1,"method":"show","params":{"height":5}}', subscriber);
  assert.match(wrong ?? "", /"code":-32603.*error converting json params to arguments: invalid 64-bit integer/);
  assert.match((await rpc.overSocket('[{"id":1,"method":"late"}]', subscriber)) ?? "", /-32700/);
  assert.equal(await rpc.overSocket('{"method":"late"}', subscriber), undefined);
});

test("whatever is sent, by any road, the answer is JSON-RPC or nothing", async () => {
  const anything = fc.jsonValue({ maxDepth: 1 });
  const request = fc.record(
    {
      id: fc.oneof(fc.integer(), fc.string(), anything),
      method: fc.oneof(fc.constantFrom("show", "reject", "late", "listen", "__proto__"), anything),
      params: fc.oneof(fc.dictionary(fc.constantFrom(...Object.keys(parameters)), anything), anything),
    },
    { requiredKeys: [] },
  );
  const body = fc.oneof(
    fc.json({ maxDepth: 2 }),
    fc.string(),
    fc.oneof(request, fc.array(request, { maxLength: 3 })).map((value) => JSON.stringify(value)),
  );
  await fc.assert(
    fc.asyncProperty(
      body,
      fc.dictionary(fc.constantFrom(...Object.keys(parameters)), fc.string()),
      async (text, query) => {
        assertAnswer((await rpc.overHttp(text)).body);
        assertAnswer((await rpc.overSocket(text, subscriber)) ?? "");
        assertAnswer((await rpc.overUri("show", new URLSearchParams(query)))?.body ?? "");
      },
    ),
    { numRuns: runs(300, 15_000) },
  );
});

function assertAnswer(body: string): void {
  if (body === "") return;
  for (const answer of [JSON.parse(body)].flat()) {
    assert.equal(answer.jsonrpc, "2.0");
    assert.notEqual("result" in answer, "error" in answer);
    if (answer.error) assert.ok(answer.error.code <= -32000 && answer.error.message !== "");
  }
}
