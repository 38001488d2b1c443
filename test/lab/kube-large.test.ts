/** Objects of a megabyte on a real server: tenants choose the content of their environment variables. */
import { test } from "node:test";
import { places } from "../../lab/places.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { eventually } from "../support/eventually.ts";
import { rejection } from "../support/kube/kube-objects.ts";
import { labIsMissing, temporaryNamespace } from "./cluster.ts";
import { openKube } from "./open-kube.ts";

const skip = { skip: labIsMissing };

/** A pod without a scheduler. */
function podOf(namespace: string, name: string, env: readonly object[]) {
  const containers = [{ name: "web", image: "web", env }];
  return { metadata: { namespace, name }, spec: { schedulerName: "nobody", containers } };
}

/** Of each of these signs the server writes six. */
const large = Array.from({ length: 14 }, (_, n) => ({ name: `V${n}`, value: "<".repeat(100_000) }));

test("the largest pods come through a watch, and in a list that is larger than an answer may be", skip, async (t) => {
  const namespace = await temporaryNamespace(t);
  const kube = openKube(t, places.kubeconfig);
  const project = ({ metadata }: { metadata: { name: string } }) => metadata.name;
  const watched = kube.watch({ kind: kinds.pod, namespace, project });
  await watched.synced();
  const names = ["a", "b", "c", "d", "e", "f", "g", "h"];
  for (const name of names) await kube.create(kinds.pod, podOf(namespace, name, large));
  await kube.create(kinds.pod, podOf(namespace, "after", []));
  await eventually("all of them", () => watched.size === names.length + 1);
  const listed = kube.watch({ kind: kinds.pod, namespace, project });
  await eventually("the list", () => listed.size === names.length + 1);
});

test("a rejection that repeats its input at any length keeps its error code", skip, async (t) => {
  const namespace = await temporaryNamespace(t);
  const kube = openKube(t, places.kubeconfig);
  const pod = podOf(namespace, "bad", [{ name: "é".repeat(60_000), value: "x" }]);
  await rejection(kube.create(kinds.pod, pod), "AKP_KUBE_REFUSED");
});
