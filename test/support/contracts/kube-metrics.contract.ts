/** The metrics API, which another server has behind the API server's address. */
import assert from "node:assert/strict";
import { kinds } from "../../../src/kube/kinds.ts";
import type { Kube, KubeObject } from "../../../src/kube/kube.ts";
import { parseQuantity } from "../../../src/market/quantity.ts";
import { eventually } from "../eventually.ts";
import { rejection } from "../kube/kube-objects.ts";

interface MeasuredPod {
  readonly namespace: string;
  readonly name: string;
  /** That it alone has in its namespace. */
  readonly labelSelector: string;
}

/** A pod that runs and was measured, and is not alone in its namespace. */
export async function checkMetrics(kube: Kube, { namespace, name, labelSelector }: MeasuredPod): Promise<void> {
  const { podMetrics, nodeMetrics } = kinds;
  const listed = await kube.list(podMetrics, { namespace, labelSelector });
  assert.deepEqual(
    listed.map(({ metadata }) => [metadata.namespace, metadata.name]),
    [[namespace, name]],
  );
  const alone = await kube.get(podMetrics, { namespace, name });
  for (const metrics of [...listed, alone]) {
    assert.ok(metrics);
    const [usage, ...more] = usagesOf(metrics);
    assert.deepEqual([Object.keys(usage ?? {}).sort(), more.length], [["cpu", "memory"], 0]);
    for (const amount of Object.values(usage ?? {})) assert.ok(parseQuantity(amount).nano > 0n, amount);
  }
  assert.ok((await kube.list(podMetrics)).length > 1);
  assert.equal(await kube.get(podMetrics, { namespace, name: "missing" }), undefined);
  const [node] = await kube.list(nodeMetrics);
  assert.deepEqual(Object.keys((node?.["usage"] as object) ?? {}).sort(), ["cpu", "memory"]);
  assert.equal(await kube.serves(podMetrics), true);
  await rejection(kube.delete(podMetrics, { namespace, name }), "AKP_KUBE_REFUSED");
  const cache = kube.watch({ kind: podMetrics, namespace, project: () => undefined });
  await eventually("that it cannot be watched", () => cache.error !== undefined);
  await cache.close();
}

function usagesOf(metrics: KubeObject): Record<string, string>[] {
  const containers = metrics["containers"] as readonly { readonly usage: Record<string, string> }[];
  return containers.map(({ usage }) => usage);
}
