/** Pods from templates, and what controllers say about them. */
import { type Kind, kinds } from "../../../kinds.ts";
import { type Ground, managers } from "../part.ts";
import { controllerReference, type Stored } from "../shapes/metadata.ts";
import type { Pod, PodSpec, PodTemplate } from "../shapes/pod.ts";

export interface Maker {
  readonly kind: Kind;
  readonly object: Stored;
  readonly template: PodTemplate;
  /** "replicaset-controller" */
  readonly by: string;
}

export interface PodWish {
  readonly name: string;
  readonly generateName?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly spec?: Partial<PodSpec>;
}

export function makePod(ground: Ground, { kind, object, template, by }: Maker, wish: PodWish): Pod {
  const { server, events } = ground;
  const { labels, annotations } = template.metadata ?? {};
  const metadata = {
    name: wish.name,
    ...(wish.generateName === undefined ? {} : { generateName: wish.generateName }),
    namespace: object.metadata.namespace ?? "",
    labels: { ...labels, ...wish.labels },
    ...(annotations === undefined ? {} : { annotations }),
    ownerReferences: [controllerReference(kind, object)],
  };
  const made = { apiVersion: "v1", kind: "Pod", metadata, spec: { ...template.spec, ...wish.spec } };
  const pod = server.create(kinds.pod, made, managers.controllers) as Pod;
  events.record({ kind, object, type: "Normal", reason: "SuccessfulCreate", note: `Created pod: ${wish.name}`, by });
  return pod;
}

export function unmakePod({ server, events }: Ground, { kind, object, by }: Maker, pod: Pod): void {
  const { namespace, name, uid } = pod.metadata;
  server.delete(kinds.pod, { namespace, name }, { uid });
  events.record({ kind, object, type: "Normal", reason: "SuccessfulDelete", note: `Deleted pod: ${name}`, by });
}
