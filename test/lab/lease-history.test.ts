/** Events of a real kubelet and of the provider about a lease that cannot run, kept after the cluster has deleted them. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { JsonOf } from "../../src/bidengine/control-handlers.ts";
import type { LeaseEvent } from "../../src/cluster/leases/events/lease-history.ts";
import type { LeaseId } from "../../src/market/ids.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import { readSdl } from "../../src/market/sdl/sdl.ts";
import { eventually } from "../support/eventually.ts";
import { createOwner } from "../support/owner.ts";
import { startProgram } from "../support/program.ts";
import { kubectl, labIsMissing, read, removeNamespace, shareNode } from "./cluster.ts";
import { offerNode } from "./lease-look.ts";
import { shellImage } from "./lease-sdl.ts";
import { bodyOf, keyOf, leaseStage } from "./lease-stage.ts";
import { providerAccount } from "./provider-account.ts";

/** One ends as soon as it has begun; the image of the other is nowhere. */
const failing = readSdl(`
version: "2.1"
services:
  crash: { image: ${shellImage}, command: [/bin/sh, -c, exit 3], expose: [{ port: 80, to: [{ service: ghost }] }] }
  ghost:
    image: registry.invalid/ghost:1
    expose: [{ port: 80, accept: [ghost-7101.example.com], to: [{ global: true }] }]
profiles:
  compute:
    small: { resources: { cpu: { units: 0.02 }, memory: { size: 32Mi }, storage: { size: 64Mi } } }
  placement:
    lab: { pricing: { small: { denom: uact, amount: 1000 } } }
deployment:
  crash: { lab: { profile: small, count: 1 } }
  ghost: { lab: { profile: small, count: 1 } }
`);

/** Back-offs grow to forty seconds before one of them is long enough to be listed. */
const listedWithinMs = 150_000;

describe("the history of a lease in the lab", { skip: labIsMissing }, () => {
  const owner = createOwner();
  let endTurn: () => void = () => undefined;
  let lease: LeaseId | undefined;

  before(async () => {
    endTurn = await shareNode("history");
  });
  after(async () => {
    if (lease) await removeNamespace(leaseNamespace(lease));
    await owner[Symbol.asyncDispose]();
    endTurn();
  });

  it("shows a crash loop and a missing image in the kubelet's words and in ours, also when the Events are gone", async (t) => {
    const stage = await leaseStage(owner, await providerAccount(owner));
    await offerNode();
    const won = await stage.win(7101n, failing);
    lease = won;
    const namespace = leaseNamespace(won);
    await stage.live({
      sends: { deployment: won, body: bodyOf(failing) },
      until: { lease: keyOf(won), isSo: "deployed" },
      writesEvent: true,
    });
    const history = () => historyOf(stage.dir, won);
    const running = await stage.start();
    const awaited = [
      ["cluster", "BackOff", "Pod crash-"],
      ["cluster", "Failed", "Pod ghost-"],
      ["ours", "CrashLoop", "service crash"],
      ["ours", "ImageError", "service ghost"],
      ["journal", "Deployed", ""],
    ] as const;
    let listed: readonly JsonOf<LeaseEvent>[] = [];
    const isListed = ([origin, reason, object]: (typeof awaited)[number]) =>
      listed.some((each) => each.origin === origin && each.reason === reason && each.object.startsWith(object));
    const areListed = async () => {
      listed = await history();
      return awaited.every(isListed);
    };
    const ours = ["CrashLoop Deployment crash", "ImageError Deployment ghost", `Deployed Namespace ${namespace}`];
    const isSaid = async () => {
      const said = await events(namespace);
      return ours.every((each) => said.includes(`${each} akash.network/provider`));
    };
    // Checked before the program's command, whose start takes a thousand times the work.
    await eventually("ours to be among the Events", isSaid, listedWithinMs);
    await eventually("all of it to be listed", areListed, listedWithinMs).catch(() => {
      assert.deepEqual(
        awaited.filter((each) => !isListed(each)),
        [],
        JSON.stringify(listed, undefined, 1),
      );
    });

    await running.stop();

    await kubectl("delete", "events", "--all", "--namespace", namespace);
    const before = await history();
    assert.deepEqual(
      awaited.filter((each) => !isListed(each)),
      [],
    );
    t.diagnostic(`${before.length} lines; ${before.map(({ reason, count }) => `${reason} ×${count}`).join(", ")}`);

    // The kubelet makes its Events again, and counts on.
    await kubectl("delete", "pod", "--namespace", namespace, "--selector", "akash.network/manifest-service=crash");
    const again = await stage.start();
    const backOffs = (lines: typeof before) =>
      lines.filter(({ reason, object }) => reason === "BackOff" && object.startsWith("Pod crash-"));
    const isBackOff = (event: string) => event.startsWith("BackOff Pod crash-");
    await eventually("its next back-off", async () => (await events(namespace)).some(isBackOff), listedWithinMs);
    const isRecorded = async () => backOffs(await history()).length > backOffs(before).length;
    await eventually("a line of the new pod", isRecorded, listedWithinMs);
    await again.stop();

    await stage.close(won);
    await stage.live({ until: { lease: keyOf(won), isSo: "gone" } });
    const [last] = (await history()).slice(-1);
    assert.match(last?.note ?? "", /^torn down/);
    assert.ok(backOffs(await history()).length > backOffs(before).length, "it outlives the lease");
  });

  /** "Reason Kind name component", of all that there are. */
  async function events(namespace: string): Promise<string[]> {
    const { items } = await read<{ items: readonly Event[] }>(`/api/v1/namespaces/${namespace}/events`);
    return items.map(({ reason, involvedObject: { kind, name }, reportingComponent }) =>
      [reason, kind, name, reportingComponent].join(" "),
    );
  }

  async function historyOf(dir: string, of: LeaseId): Promise<JsonOf<LeaseEvent>[]> {
    const program = startProgram(owner, ["lease", "history", keyOf(of), "--json", "--data-dir", dir]);
    assert.equal(await program.ended(), 0, program.said);
    return program.said
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line));
  }
});

interface Event {
  readonly reason: string;
  readonly involvedObject: { readonly kind: string; readonly name: string };
  readonly reportingComponent: string;
}
