/** Network policies on the lab, felt by real packets between real pods. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, describe, it } from "node:test";
import { shellImage, webImage } from "../../lab/images.ts";
import { networkPolicy } from "../../lab/network-policy/component.ts";
import { network, places } from "../../lab/places.ts";
import { logFile } from "../../lab/processes.ts";
import { type Kind, kinds } from "../../src/kube/kinds.ts";
import { eventually } from "../support/eventually.ts";
import type { Owner } from "../support/owner.ts";
import { createCalls, type Echo, heard, holdsWithinMs, wget } from "./calls.ts";
import { kubectl, labIsMissing, temporaryNamespace } from "./cluster.ts";
import { openKube } from "./open-kube.ts";
import { type PodAt, type PodContainer, runPod } from "./pods.ts";

/** A pod's first call is held until its address is known, for at most five seconds; then its second try may come through. */
const firstAnswerWithinS = 10;

const kube = openKube({ after }, places.kubeconfig);
const { becomes, call, lookUp, output } = createCalls(kube);
const web: PodContainer = { image: webImage };
const shell: PodContainer = { image: shellImage };

// Policies of most tests select one pod of `home`, so that the tests do not meet; callers are in all three.
const [home, friends, others] = labIsMissing ? ["", "", ""] : await temporaryNamespaces({ after });
const neighbour = { namespace: home, name: "neighbour" };
const friend = { namespace: friends, name: "caller" };
const other = { namespace: others, name: "caller" };
if (!labIsMissing) {
  await label(friends, { team: "friends" });
  await Promise.all([neighbour, friend, other].map((at) => runPod(kube, at, shell)));
}

describe("network policies on the lab", { skip: labIsMissing, concurrency: 4 }, () => {
  it("let every pod reach every other as long as there are none", async () => {
    const page = await serve(home, "open");
    for (const caller of [neighbour, friend, other]) await becomes(caller, page, "answer");
  });

  it("close a pod to all but its node when they select it and allow nothing, and open it again when they go", async () => {
    const page = await serve(home, "closed");
    await becomes(friend, page, "answer");
    await makePolicy(home, "closed", { policyTypes: ["Ingress"] });
    await becomes(friend, page, "silence");
    assert.equal(await call(neighbour, page), "silence");
    assert.equal((await fetch(`http://${page}`)).status, 200);
    await kube.delete(kinds.networkPolicy, { namespace: home, name: "closed" });
    await becomes(friend, page, "answer");
  });

  it("let in the pods of a namespace with the right label, and no others", async () => {
    const page = await serve(home, "for-friends");
    const from = [{ namespaceSelector: { matchLabels: { team: "friends" } } }];
    await makePolicy(home, "for-friends", { ingress: [{ from }] });
    await becomes(other, page, "silence");
    await becomes(friend, page, "answer");
    assert.equal(await call(neighbour, page), "silence");
  });

  it("follow the labels of a namespace as they change", async (t) => {
    const namespace = await temporaryNamespace(t);
    const caller = { namespace, name: "caller" };
    await runPod(kube, caller, shell);
    const page = await serve(home, "for-guests");
    const from = [{ namespaceSelector: { matchLabels: { guest: namespace } } }];
    await makePolicy(home, "for-guests", { ingress: [{ from }] });
    await becomes(caller, page, "silence");
    await label(namespace, { guest: namespace });
    await becomes(caller, page, "answer");
  });

  it("take a pod selector alone to mean their own namespace, and with a namespace selector to mean both", async () => {
    const near = await serve(home, "for-callers-here");
    const far = await serve(home, "for-callers-of-friends");
    const podSelector = { matchExpressions: [{ key: "app", operator: "NotIn", values: ["neighbour"] }] };
    await makePolicy(home, "for-callers-here", { ingress: [{ from: [{ podSelector }] }] });
    const namespaceSelector = { matchExpressions: [{ key: "team", operator: "Exists" }] };
    await makePolicy(home, "for-callers-of-friends", { ingress: [{ from: [{ podSelector, namespaceSelector }] }] });
    await becomes(other, far, "silence");
    await becomes(friend, far, "answer");
    assert.equal(await call(neighbour, far), "silence");
    assert.equal(await call(friend, near), "silence");
    assert.equal(await call(neighbour, near), "silence");
    await becomes({ namespace: home, name: "for-callers-of-friends" }, near, "answer");
  });

  it("let in a block of addresses but for its exceptions", async () => {
    const page = await serve(home, "for-addresses");
    const ipBlock = { cidr: network.subnet, except: [`${await addressOf(other)}/32`] };
    await makePolicy(home, "for-addresses", { ingress: [{ from: [{ ipBlock }] }] });
    await becomes(other, page, "silence");
    await becomes(friend, page, "answer");
  });

  it("open ports by number, by range and by name", async () => {
    const command = [
      "/bin/sh",
      "-c",
      "for port in 8080 8081 8082 8083 8084; do httpd -p $port -h /www; done; sleep 3600",
    ];
    const ports = [{ name: "page", containerPort: 8084 }];
    const page = await serve(home, "ports", { ...web, command, ports } as PodContainer);
    const at = (port: number) => page.replace("8080", String(port));
    const allowed = [{ port: 8080 }, { port: 8081, endPort: 8082 }, { port: "page" }];
    await becomes(friend, at(8083), "answer");
    await makePolicy(home, "ports", { ingress: [{ ports: allowed }] });
    await becomes(friend, at(8083), "silence");
    for (const port of [8080, 8081, 8082, 8084]) await becomes(friend, at(port), "answer");
  });

  it("judge a call to a Service by the pod that it leads to", async () => {
    const page = await serve(home, "served");
    await kube.apply(kinds.service, {
      metadata: { namespace: home, name: "served" },
      spec: { selector: { app: "served" }, ports: [{ port: 80, targetPort: 8080 }] },
    });
    const clusterIP = await field(kinds.service, { namespace: home, name: "served" }, "spec", "clusterIP");
    await becomes(other, clusterIP, "answer");
    const from = [{ namespaceSelector: { matchLabels: { team: "friends" } } }];
    await makePolicy(home, "served", { ingress: [{ from, ports: [{ port: 8080 }] }] });
    await becomes(other, clusterIP, "silence");
    assert.equal(await call(other, page), "silence");
    await becomes(friend, clusterIP, "answer");
    // No policy applies to a pod's connection to itself.
    await becomes({ namespace: home, name: "served" }, clusterIP, "answer");
  });

  it("keep a pod that may only ask for names from everything else, its node and the API server included", async () => {
    const page = await serve(home, "not-to-be-called");
    const asker = { namespace: home, name: "asker" };
    await runPod(kube, asker, shell);
    await becomes(asker, page, "answer");
    await makePolicy(home, "asker", { policyTypes: ["Egress"], egress: [toNameServer] });
    await becomes(asker, page, "silence");
    assert.equal(await call(asker, `${network.node}:${network.apiPort}`), "silence");
    assert.equal(await call(asker, `${network.apiService}:443`), "silence");
    await eventually("the name to be found", async () => (await lookUp(asker)).includes(network.apiService));
  });

  it("hold for a pod's very first packet, though it runs before its address is known", async () => {
    const page = await serve(home, "waiting");
    const hasty = (name: string) => firstCall({ namespace: home, name }, page);
    assert.equal(await hasty("free"), "answer");
    await makePolicy(home, "bound", { policyTypes: ["Egress"] });
    // The policy is in force once it holds for a pod that is there.
    const bound = { namespace: home, name: "bound" };
    await runPod(kube, bound, shell);
    await becomes(bound, page, "silence");
    await remove(bound);
    assert.equal(await hasty("bound"), "silence");
  });

  it("leave a connection alone that was open before they came", async (t) => {
    const echo = { image: shellImage, command: ["/bin/sh", "-c", "nc -ll -p 8080 -e cat"] };
    const [address = ""] = (await serve(home, "echo", echo)).split(":");
    const line = await kube.exec(neighbour, { command: ["nc", address, "8080"], stdin: true });
    t.after(() => line.close());
    let heard = "";
    line.stdout.setEncoding("utf8").on("data", (words: string) => {
      heard += words;
    });
    const say = async (word: string) => {
      line.stdin.write(word);
      await eventually(`the answer to ${word}`, () => heard.endsWith(word));
    };
    await say("before\n");
    await makePolicy(home, "echo", { policyTypes: ["Ingress"] });
    await eventually("new calls to be refused", () => cannotConnect(neighbour, address), holdsWithinMs);
    await say("after\n");
  });

  it("stay in force when a pod goes while its call to another that went is still being looked into", async () => {
    const page = await serve(home, "staying");
    const gone = { namespace: home, name: "gone" };
    const going = { namespace: home, name: "going" };
    await Promise.all([gone, going].map((at) => runPod(kube, at, shell)));
    const [from, to] = await Promise.all([going, gone].map(addressOf));
    await remove(gone);
    assert.equal(await call(going, `${to}:8080`), "silence");
    await remove(going);
    const words = `refused ${from} → ${to}:8080 TCP`;
    await eventually(words, () => readFileSync(logFile("network-policy"), "utf8").includes(words));
    await becomes(neighbour, page, "answer");
    assert.equal(await networkPolicy.ready(), true);
  });
});

const toNameServer = {
  to: [
    {
      namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "kube-system" } },
      podSelector: { matchLabels: { "k8s-app": "kube-dns" } },
    },
  ],
  ports: [
    { port: 53, protocol: "UDP" },
    { port: 53, protocol: "TCP" },
  ],
};

/** Three, which go at the same time: each takes some seconds. */
async function temporaryNamespaces(owner: Owner): Promise<[string, string, string]> {
  const ends: (() => unknown)[] = [];
  owner.after(async () => void (await Promise.all(ends.map((end) => end()))));
  const one = () => temporaryNamespace({ after: (end) => void ends.push(end) });
  return [await one(), await one(), await one()];
}

async function label(namespace: string, labels: Record<string, string>): Promise<void> {
  await kubectl("label", "namespace", namespace, ...Object.entries(labels).map(([key, value]) => `${key}=${value}`));
}

/** A policy for the pods with `app=app`. */
async function makePolicy(namespace: string, app: string, spec: object, name = app): Promise<void> {
  const podSelector = { matchLabels: { app } };
  await kube.apply(kinds.networkPolicy, { metadata: { namespace, name }, spec: { podSelector, ...spec } });
}

/** Runs a pod that listens on 8080; the answer is where. */
async function serve(namespace: string, name: string, container: PodContainer = web): Promise<string> {
  await runPod(kube, { namespace, name }, container);
  return `${await addressOf({ namespace, name })}:8080`;
}

async function remove(at: PodAt): Promise<void> {
  await kube.delete(kinds.pod, at, { graceSeconds: 0 });
  await eventually("the pod to be gone", async () => !(await kube.get(kinds.pod, at)), holdsWithinMs);
}

function addressOf(at: PodAt): Promise<string> {
  return field(kinds.pod, at, "status", "podIP");
}

async function field(kind: Kind, at: PodAt, part: string, name: string): Promise<string> {
  const object = await kube.get(kind, at);
  return String((object?.[part] as Record<string, unknown> | undefined)?.[name]);
}

/** The result of a connection that a pod opens as soon as it starts. */
async function firstCall(at: PodAt, where: string): Promise<Echo> {
  await runPod(kube, at, { ...shell, command: ["/bin/sh", "-c", wget(where, firstAnswerWithinS)] }, "started");
  let log = "";
  for await (const lines of kube.logs(at, { follow: true })) log += lines.map(({ text }) => text).join("");
  return heard(log);
}

async function cannotConnect(caller: PodAt, address: string): Promise<boolean> {
  return (await output(caller, ["sh", "-c", `nc -w 1 ${address} 8080 < /dev/null || echo refused`])).includes(
    "refused",
  );
}
