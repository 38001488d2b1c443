import assert from "node:assert/strict";
import { test } from "node:test";
import { definitionOf } from "../../../../test/support/kube/kube-definition.ts";
import { createSeededRandom } from "../../../../test/support/seeded-random.ts";
import { createVirtualClock } from "../../../../test/support/virtual-clock.ts";
import { type Kind, kinds, resourceOf } from "../../../kube/kinds.ts";
import { ProviderError } from "../../../runtime/errors.ts";
import { createPartsServer } from "./in-process.ts";
import { createServer } from "./server.ts";

const gadget: Kind = { group: "example.com", version: "v1", kind: "Gadget", plural: "gadgets", namespaced: false };
const definition = definitionOf(gadget);
const at = { name: resourceOf(gadget) };

function stage() {
  const clock = createVirtualClock();
  const server = createPartsServer(createServer({ clock, random: createSeededRandom(1) }));
  server.create(kinds.customResourceDefinition, definition, "test");
  const events: string[] = [];
  server.subscribe(({ type, kind, object }) => void events.push(`${type} ${kind.plural} ${object.metadata.name}`));
  const add = (name: string, finalizers: string[] = []) =>
    server.create(gadget, { metadata: { name, finalizers } }, "test");
  return { clock, server, events, add };
}

const isMissing = (thrown: unknown) => ProviderError.is(thrown, "AKP_KUBE_KIND_MISSING");

test("a deleted definition is marked, then its objects are deleted, then itself", () => {
  const { server, events, add } = stage();
  for (const name of ["a", "b"]) add(name);
  events.length = 0;
  server.delete(kinds.customResourceDefinition, at);
  const own = `customresourcedefinitions ${at.name}`;
  assert.deepEqual(events, [`modified ${own}`, "deleted gadgets a", "deleted gadgets b", `deleted ${own}`]);
  assert.throws(() => server.list(gadget), isMissing);
});

test("a definition whose cleaning is called off takes what is held along", () => {
  const { server, add } = stage();
  add("held", ["example.com/hold"]);
  server.delete(kinds.customResourceDefinition, at);
  const going = server.get(kinds.customResourceDefinition, at);
  assert.ok(going);
  server.update(kinds.customResourceDefinition, { ...going, metadata: { ...going.metadata, finalizers: [] } }, "hand");
  assert.throws(() => server.list(gadget), isMissing);
  server.create(kinds.customResourceDefinition, definition, "test");
  assert.deepEqual(server.list(gadget), []);
});

test("a definition that is written again as it is does not change", async () => {
  const { clock, server } = stage();
  const before = server.get(kinds.customResourceDefinition, at);
  assert.ok(before);
  await clock.advance(5_000);
  server.update(kinds.customResourceDefinition, before, "test");
  assert.deepEqual(server.get(kinds.customResourceDefinition, at), before);
});

test("a definition's name consists of its plural and group", () => {
  const { server } = stage();
  const wrong = { ...definition, metadata: { name: "others.example.com" } };
  assert.throws(() => server.create(kinds.customResourceDefinition, wrong, "test"), /spec\.names\.plural/);
});
