import assert from "node:assert/strict";
import { test } from "node:test";
import { importedModules, judgeImport } from "./imports.ts";

test("imports point downward only", () => {
  assert.equal(judgeImport("cli/main.ts", "provider/provider.ts"), undefined);
  assert.equal(judgeImport("bidengine/loop.ts", "chain/chain.ts"), undefined);
  assert.equal(judgeImport("journal/journal.ts", "runtime/clock.ts"), undefined);
  assert.ok(judgeImport("runtime/clock.ts", "journal/journal.ts"));
  assert.ok(judgeImport("journal/journal.ts", "bus/bus.ts"));
});

test("a service does not import another one", () => {
  assert.ok(judgeImport("bidengine/loop.ts", "cluster/reserve.ts"));
});

test("the world in a box is opened by the commands that show it, and by nothing else", () => {
  assert.equal(judgeImport("cli/demo.ts", "box/demo.ts"), undefined);
  assert.equal(judgeImport("box/demo.ts", "provider/provider.ts"), undefined);
  assert.ok(judgeImport("cli/run.ts", "box/demo.ts"));
  assert.ok(judgeImport("provider/provider.ts", "box/chain/embedded-node.ts"));
  assert.ok(judgeImport("chain/tx/broadcaster.ts", "chain/comet/follower.ts"));
  assert.ok(judgeImport("kube/kube.ts", "box/cluster/server.ts"));
});

test("folders of the chain import one another in one direction", () => {
  assert.equal(judgeImport("chain/outbox/sender.ts", "chain/tx/broadcaster.ts"), undefined);
  assert.equal(judgeImport("chain/outbox/sender.ts", "chain/outbox/flights.ts"), undefined);
  assert.equal(judgeImport("chain/tx/send.ts", "chain/chain.ts"), undefined);
  assert.equal(judgeImport("chain/chain-service.ts", "chain/outbox/outbox.ts"), undefined);
  assert.ok(judgeImport("chain/tx/send.ts", "chain/outbox/outbox.ts"));
  assert.ok(judgeImport("chain/codec/message.ts", "chain/tx/messages.ts"));
});

test("an interface does not import its implementations", () => {
  assert.equal(judgeImport("chain/comet/comet-chain.ts", "chain/chain.ts"), undefined);
  assert.equal(judgeImport("chain/chain.ts", "chain/records.ts"), undefined);
  assert.ok(judgeImport("chain/chain.ts", "chain/comet/block.ts"));
  assert.ok(judgeImport("kube/kube.ts", "kube/client/client.ts"));
  assert.ok(judgeImport("bus/bus.ts", "bus/redis.ts"));
});

test("the market knows nothing of ours but errors", () => {
  assert.equal(judgeImport("market/coin.ts", "runtime/errors.ts"), undefined);
  assert.ok(judgeImport("market/coin.ts", "runtime/clock.ts"));
});

test("a folder that the map does not know is rejected", () => {
  assert.ok(judgeImport("helpers/x.ts", "runtime/clock.ts"));
});

test("every form of import is seen", () => {
  const source = [
    'import { a } from "./a.ts";',
    'import type { b } from "./b.ts";',
    'import {\n  c,\n} from "./c.ts";',
    'export { d } from "./d.ts";',
    'import "./e.ts";',
    'const f = await import("./f.ts");',
  ].join("\n");
  assert.deepEqual(importedModules(source).sort(), ["./a.ts", "./b.ts", "./c.ts", "./d.ts", "./e.ts", "./f.ts"]);
});

test("folders of the inventory import one another in one direction", () => {
  const inventory = "operators/inventory";
  assert.equal(judgeImport(`${inventory}/accounting/watched-node.ts`, `${inventory}/labels/label-keys.ts`), undefined);
  assert.ok(judgeImport(`${inventory}/labels/wanted-labels.ts`, `${inventory}/accounting/sold-cards.ts`));
});
