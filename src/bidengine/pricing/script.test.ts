import assert from "node:assert/strict";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { eventually } from "../../../test/support/eventually.ts";
import { temporaryFolder } from "../../../test/support/folder.ts";
import { groupOf } from "../../../test/support/market-group.ts";
import { priceRequest } from "../../../test/support/price-settings.ts";
import {
  linesOf,
  longTime,
  openFiles,
  processesWith,
  writeScript,
  zombiesOfOurs,
} from "../../../test/support/samples/price-script.ts";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import { showDecCoin } from "../../market/coin.ts";
import { type Clock, realClock } from "../../runtime/clock.ts";
import { silentLog } from "../../runtime/log.ts";
import type { Quote } from "./pricing.ts";
import { createScript, priceOutputChars, priceScriptBytes, scriptInput } from "./script.ts";

const never = new AbortController().signal;
const gibi = 2n ** 30n;
const asleep = `sleep ${longTime()}`;

const timeoutMs = 60_000;

function scriptOf(path: string, { limit = 32, clock = realClock as Clock } = {}) {
  const settings = {
    bidPriceScriptPath: path,
    bidPriceScriptProcessLimit: limit,
    bidPriceScriptTimeoutMs: timeoutMs,
  };
  return createScript(settings, { clock, log: silentLog });
}

async function ask(t: TestContext, body: string, most = "100uakt"): Promise<Quote> {
  return scriptOf(writeScript(temporaryFolder(t), body)).quote(priceRequest(groupOf(), most), never);
}

function reasonOf(answer: Quote): string {
  return answer.price === undefined ? answer.reason : assert.fail(`a price of ${showDecCoin(answer.price)}`);
}

test("a script gets the order on standard input in the network's format, and no arguments", async (t) => {
  const folder = temporaryFolder(t);
  const path = writeScript(folder, `cat > ${folder}/in; env > ${folder}/env; echo "$#" > ${folder}/args; echo 1`);
  const leased = { kind: "leased-ip", sequenceNumber: 1 } as const;
  const wanted = groupOf(
    {
      cpuMilli: 1_000n,
      memoryBytes: gibi / 2n,
      gpus: 1n,
      gpuKeys: ["vendor/nvidia/model/*"],
      endpoints: [leased, leased],
    },
    { count: 3, storage: { ephemeral: gibi, beta3: gibi, ram: gibi } },
  );
  const given = groupOf({ gpus: 1n, gpuKeys: ["vendor/nvidia/model/a100/ram/80Gi/interface/sxm"] });
  const offer = wanted.units.map((unit, index) => ({ ...unit, gpu: given.units[index]?.gpu ?? unit.gpu }));
  const request = { ...priceRequest(wanted, "100uact"), offer };
  await scriptOf(path).quote(request, never);
  const expected =
    '{"resources":[{"memory":536870912,"cpu":1000,"gpu":{"units":1,"attributes":{"vendor":{"nvidia":{"model":"a100","ram":"80Gi","interface":"sxm"}}}},' +
    '"storage":[{"class":"ephemeral","size":536870912}],"count":1,"endpoint_quantity":2,"ip_lease_quantity":1},' +
    '{"memory":134217728,"cpu":100,"gpu":{"units":0,"attributes":{}},' +
    '"storage":[{"class":"ephemeral","size":1073741824},{"class":"beta3","size":1073741824},{"class":"ram","size":1073741824}],' +
    '"count":3,"endpoint_quantity":0,"ip_lease_quantity":0}],"price":{"denom":"uact","amount":"100.000000000000000000"},"price_precision":6}\n';
  assert.equal(readFileSync(`${folder}/in`, "utf8"), expected);
  assert.equal(scriptInput(request), expected);
  const env = linesOf(`${folder}/env`);
  assert.ok(env.includes(`AKASH_OWNER=${request.owner}`));
  assert.ok(env.includes("AKASH_DENOM=uact"));
  assert.ok(
    env.some((line) => line === `PATH=${process.env["PATH"]}`),
    "it inherits the environment",
  );
  assert.deepEqual(linesOf(`${folder}/args`), ["0"]);
});

test("several models of a vendor → the last is in the input; no attributes → none", () => {
  const keys = ["vendor/nvidia/model/t4", "vendor/amd/model/mi100", "vendor/nvidia/model/a100"];
  const gpuInput = (group: ReturnType<typeof groupOf>) => JSON.parse(scriptInput(priceRequest(group))).resources[0].gpu;
  assert.deepEqual(gpuInput(groupOf({ gpus: 1n, gpuKeys: keys })), {
    units: 1,
    attributes: { vendor: { amd: { model: "mi100" }, nvidia: { model: "a100" } } },
  });
  assert.deepEqual(gpuInput(groupOf({ gpus: 1n })), { units: 1, attributes: {} });
});

test("what it prints is the price, in the order's denomination", async (t) => {
  const cases: [string, string][] = [
    ["printf 1.5", "1.5uakt"],
    ["echo '  2.000001  '; echo", "2.000001uakt"],
    ["echo 0.000000000000000001", "0.000000000000000001uakt"],
    ["cat > /dev/null; echo 3", "3uakt"],
    ["echo 4; echo note >&2", "4uakt"],
  ];
  for (const [body, expected] of cases) {
    const { price } = await ask(t, body);
    assert.equal(price && showDecCoin(price), expected);
  }
});

test("what is not a price is a no that shows what was printed", async (t) => {
  const cases: [string, RegExp][] = [
    ["true", /printed nothing/],
    ["echo ' '", /printed nothing/],
    ["echo 0.000", /a price of zero/],
    ["echo -1", /a negative price: -1/],
    ["echo NaN", /no price: "NaN"/],
    ["echo 1e3", /no price: "1e3"/],
    ["echo DEBUG: model a100; echo 1.5", /no price: "DEBUG: model a100\\n1.5"/],
    ["echo 1.0000000000000000001", /no price/],
    ["echo requested rate is too low >&2; exit 1", /ended with the code 1: requested rate is too low/],
    ["echo only this; exit 3", /ended with the code 3: only this/],
    ["exit 7", /ended with the code 7: it printed nothing/],
    ["kill -TERM $$", /ended by the signal SIGTERM/],
  ];
  for (const [body, expected] of cases) assert.match(reasonOf(await ask(t, body)), expected);
});

test("script missing, not executable or a folder → a no and an error until it is fixed", async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, "price.sh");
  const script = scriptOf(path);
  const quote = () => script.quote(priceRequest(groupOf()), never);
  assert.match(reasonOf(await quote()), /cannot be started: .*ENOENT/);
  assert.match(script.error ?? "", /the price script cannot be started: .*ENOENT.* \(.*price.sh\)/);
  writeFileSync(path, "#!/bin/sh\necho 1\n");
  assert.match(reasonOf(await quote()), /cannot be started: .*EACCES/);
  chmodSync(path, 0o755);
  assert.ok((await quote()).price);
  assert.equal(script.error, undefined);
  assert.match(reasonOf(await scriptOf(folder).quote(priceRequest(groupOf()), never)), /cannot be started: .*EACCES/);
});

test("script declines → no error; script without a price → an error until it prints one", async (t) => {
  const folder = temporaryFolder(t);
  const clock = createVirtualClock();
  const script = scriptOf(join(folder, "price.sh"), { clock });
  const errorAfter = async (body: string, whileItRuns: () => Promise<void> = async () => undefined) => {
    writeScript(folder, body);
    await Promise.all([script.quote(priceRequest(groupOf()), never), whileItRuns()]);
    return script.error;
  };
  const late = await errorAfter(asleep, async () => {
    await eventually("that it runs", () => processesWith(asleep) > 0);
    await clock.advance(timeoutMs);
  });
  assert.match(late ?? "", /gave no price within 60000 ms and was ended \(.*price.sh\)/);
  assert.equal(await errorAfter("echo requested rate is too low >&2; exit 1"), undefined);
  assert.match((await errorAfter("echo DEBUG; echo 1")) ?? "", /printed what is no price/);
  assert.equal(await errorAfter("echo 1"), undefined);
});

test("a script that hangs is ended in time, with all its child processes", async (t) => {
  const folder = temporaryFolder(t);
  const body = `sh -c '${asleep} & ${asleep}' & touch ${folder}/begun; ${asleep}`;
  const clock = createVirtualClock();
  const script = scriptOf(writeScript(folder, body), { clock });
  const quote = Promise.resolve(script.quote(priceRequest(groupOf()), never));
  await eventually("that it runs", () => existsSync(`${folder}/begun`) && processesWith(asleep) >= 3);
  await clock.advance(timeoutMs);
  assert.match(reasonOf(await quote), /no price within 60000 ms and was ended/);
  await eventually("that nothing is left", () => processesWith(asleep) === 0);
  assert.equal(clock.pendingTimers, 0);
});

test("one that answers and leaves something behind leaves nothing behind", async (t) => {
  const { price } = await ask(t, `${asleep} & ${asleep} & echo 1.5`);
  assert.equal(price && showDecCoin(price), "1.5uakt");
  await eventually("that nothing is left", () => processesWith(asleep) === 0);
});

test("what has left its process group cannot hold up the answer", async (t) => {
  const folder = temporaryFolder(t);
  const path = writeScript(
    folder,
    `setsid sh -c 'echo $$ > ${folder}/pid; exec ${asleep}' & \nwhile [ ! -s ${folder}/pid ]; do :; done; echo 2`,
  );
  const answer = await scriptOf(path).quote(priceRequest(groupOf()), never);
  assert.equal(answer.price && showDecCoin(answer.price), "2uakt");
  process.kill(Number(readFileSync(`${folder}/pid`, "utf8")), "SIGKILL");
});

test("one that floods its output is cut and ended", async (t) => {
  const word = `flood${process.pid}`;
  for (const to of ["", ">&2"]) {
    const answer = await ask(t, `yes ${word} ${to}`);
    assert.match(reasonOf(answer), new RegExp(`printed more than ${priceScriptBytes} bytes and was ended: ${word}`));
    assert.ok(JSON.stringify(answer.evidence).length < 3 * priceOutputChars);
  }
  await eventually("that nothing is left", () => processesWith(word) === 0);
});

test("aborted caller → its script is ended, or never started", async (t) => {
  const folder = temporaryFolder(t);
  const script = scriptOf(writeScript(folder, `echo >> ${folder}/runs; ${asleep}`), { limit: 1 });
  const [running, waiting] = [new AbortController(), new AbortController()];
  const first = Promise.resolve(script.quote(priceRequest(groupOf()), running.signal));
  // The shell makes the file before it writes to it.
  await eventually("the first", () => existsSync(`${folder}/runs`) && readFileSync(`${folder}/runs`, "utf8") === "\n");
  const second = Promise.resolve(script.quote(priceRequest(groupOf()), waiting.signal));
  waiting.abort(new Error("the order is closed"));
  assert.match(reasonOf(await second), /was not run: the order is closed/);
  running.abort();
  assert.match(reasonOf(await first), /its price is not needed any more/);
  assert.equal(readFileSync(`${folder}/runs`, "utf8"), "\n");
  await eventually("that nothing is left", () => processesWith(asleep) === 0);
});

test("rechecks with the same input share one answer for a minute, and new orders always run the script", async (t) => {
  const folder = temporaryFolder(t);
  const clock = createVirtualClock();
  const script = scriptOf(writeScript(folder, `echo >> ${folder}/runs; echo 1`), { clock });
  const runs = () => readFileSync(`${folder}/runs`, "utf8").length;
  const quote = async (most: string, isRecheck: boolean) => {
    assert.ok((await script.quote({ ...priceRequest(groupOf(), most), isRecheck }, never)).price);
  };
  for (let count = 0; count < 5; count += 1) await quote("100uakt", true);
  assert.equal(runs(), 1);
  await quote("200uakt", true);
  assert.equal(runs(), 2, "other input");
  await quote("100uakt", false);
  assert.equal(runs(), 3, "a new order");
  await clock.advance(60_000);
  await quote("100uakt", true);
  assert.equal(runs(), 4, "a minute later");
});

test("while rechecks wait for the script, a new order is priced at once", async (t) => {
  const folder = temporaryFolder(t);
  const body = `echo "$AKASH_OWNER" >> ${folder}/runs; while [ -e ${folder}/runs ] && [ ! -e ${folder}/go ]; do sleep 0.01; done; echo 1`;
  const script = scriptOf(writeScript(folder, body), { limit: 2 });
  const quote = async (owner: string, isRecheck: boolean) => {
    return (await script.quote({ ...priceRequest(groupOf()), owner, isRecheck }, never)).price;
  };
  const rechecks = Array.from({ length: 5 }, (_, at) => quote(`recheck ${at}`, true));
  const fresh = quote("new", false);
  const begun = () => (existsSync(`${folder}/runs`) ? linesOf(`${folder}/runs`) : []);
  await eventually("two that have begun", () => begun().length === 2);
  assert.deepEqual(begun().sort(), ["new", "recheck 0"]);
  writeFileSync(`${folder}/go`, "");
  assert.ok((await Promise.all([fresh, ...rechecks])).every((price) => price !== undefined));
});

test("further offers of orders wait for the script behind the first offers of all, and before rechecks", async (t) => {
  const folder = temporaryFolder(t);
  const body = `echo "$AKASH_OWNER" >> ${folder}/runs; while [ ! -e ${folder}/go ]; do sleep 0.01; done; echo 1`;
  const script = scriptOf(writeScript(folder, body), { limit: 1 });
  const quote = async (owner: string, how: { isRecheck?: boolean; isFurther?: boolean } = {}) => {
    return (await script.quote({ ...priceRequest(groupOf()), owner, ...how }, never)).price;
  };
  const running = quote("running");
  await eventually("the first", () => existsSync(`${folder}/runs`) && linesOf(`${folder}/runs`).length === 1);
  const waiting = [quote("recheck", { isRecheck: true }), quote("further", { isFurther: true }), quote("new")];
  writeFileSync(`${folder}/go`, "");
  await Promise.all([running, ...waiting]);
  assert.deepEqual(linesOf(`${folder}/runs`), ["running", "new", "further", "recheck"]);
});

test("new orders of one owner with the same input share a run under way, unless its asker goes away", async (t) => {
  const folder = temporaryFolder(t);
  const body = `echo >> ${folder}/runs; while [ -e ${folder} ] && [ ! -e ${folder}/go ]; do sleep 0.01; done; echo 1`;
  const script = scriptOf(writeScript(folder, body));
  const runs = () => (existsSync(`${folder}/runs`) ? readFileSync(`${folder}/runs`, "utf8").length : 0);
  const leaving = new AbortController();
  const first = Promise.resolve(script.quote(priceRequest(groupOf()), leaving.signal));
  const others = Array.from({ length: 3 }, async () => script.quote(priceRequest(groupOf()), never));
  await eventually("one run", () => runs() === 1);
  leaving.abort();
  assert.match(reasonOf(await first), /its price is not needed any more/);
  await eventually("a second run", () => runs() === 2);
  writeFileSync(`${folder}/go`, "");
  assert.ok((await Promise.all(others)).every(({ price }) => price));
  assert.equal(runs(), 2);
});

test("500 orders at once with four processes: never more than four, all are answered, and nothing is left", async (t) => {
  const folder = temporaryFolder(t);
  const path = writeScript(
    folder,
    `echo begun >> ${folder}/begun; while [ -e ${folder}/begun ] && [ ! -e ${folder}/go ]; do sleep 0.01; done; echo 1`,
  );
  const script = scriptOf(path, { limit: 4 });
  const filesBefore = openFiles();
  const quotes = Array.from({ length: 500 }, async (_, at) =>
    script.quote({ ...priceRequest(groupOf()), owner: `owner ${at}` }, never),
  );
  await eventually(
    "four that have begun",
    () => existsSync(`${folder}/begun`) && linesOf(`${folder}/begun`).length === 4,
  );
  // One that is about to start its sleep still looks like itself for a moment.
  assert.ok(processesWith(path) <= 8, "and no others");
  writeFileSync(`${folder}/go`, "");
  let beats = 0;
  const heart = setInterval(() => {
    beats += 1;
  }, 5);
  t.after(() => clearInterval(heart));
  const answers = await Promise.all(quotes);
  assert.ok(answers.every(({ price }) => price));
  assert.ok(beats > 5, `the event loop went on meanwhile: ${beats} beats`);
  assert.equal(linesOf(`${folder}/begun`).length, 500);
  await eventually("that no file is left open", () => openFiles() <= filesBefore);
  assert.deepEqual(zombiesOfOurs(), []);
});
