/** What health keeps of a pod: little of a ready one, since there are thousands. */
import { conditionHolds, fieldsOf, recordsOf, textOf } from "../../kube/json-fields.ts";
import type { KubeObject } from "../../kube/kube.ts";
import { serviceLabel } from "../../kube/objects/lease-labels.ts";
import { parseTime } from "../../runtime/clock.ts";
import type { HealthReason } from "./lease-health.ts";

export interface PodFacts {
  /** Of the manifest; empty without its label. */
  readonly service: string;
  /** Made by a stateful set; else by a deployment. */
  readonly ofSet: boolean;
  /** Of a stateful set: which of its replicas it is. */
  readonly ordinal?: number;
  readonly createdAtMs: number;
  /** "leaving": being deleted. "ended": succeeded or failed. */
  readonly state: "ready" | "unready" | "leaving" | "ended";
  /** The node that it is or was on. */
  readonly on: string | undefined;
  /** Why it is not ready, or ended; undefined for one that is starting. */
  readonly problem: PodProblem | undefined;
  readonly endedAtMs: number | undefined;
}

export function podFacts(pod: KubeObject): PodFacts {
  const { name, labels, creationTimestamp = "" } = pod.metadata;
  const state = stateOf(pod);
  const createdAtMs = parseTime(creationTimestamp);
  const ofSet = recordsOf(fieldsOf(pod.metadata)["ownerReferences"]).some(({ kind }) => kind === "StatefulSet");
  return {
    service: labels?.[serviceLabel] ?? "",
    ofSet,
    ...(ofSet && { ordinal: Number(name.slice(name.lastIndexOf("-") + 1)) }),
    createdAtMs: Number.isNaN(createdAtMs) ? 0 : createdAtMs,
    state,
    on: textOf(fieldsOf(pod["spec"])["nodeName"]) || undefined,
    problem: state === "unready" ? podProblem(pod) : state === "ended" ? endedPodProblem(pod) : undefined,
    endedAtMs: state === "ended" ? lastChangeMs(pod) : undefined,
  };
}

function stateOf(pod: KubeObject): PodFacts["state"] {
  const { phase, conditions } = fieldsOf(pod["status"]);
  if (pod.metadata.deletionTimestamp !== undefined) return "leaving";
  if (phase === "Succeeded" || phase === "Failed") return "ended";
  return conditionHolds(conditions, "Ready") ? "ready" : "unready";
}

function lastChangeMs(pod: KubeObject): number | undefined {
  const { conditions, containerStatuses, startTime } = fieldsOf(pod["status"]);
  const ends = recordsOf(containerStatuses).map(({ state }) => fieldsOf(fieldsOf(state)["terminated"])["finishedAt"]);
  const changes = recordsOf(conditions).map(({ lastTransitionTime }) => lastTransitionTime);
  const times = [...ends, ...changes, startTime].map((each) => parseTime(textOf(each) ?? "")).filter((ms) => ms > 0);
  return times.length > 0 ? Math.max(...times) : undefined;
}

/** Of a tenant's own names in a message: an image with its registry and digest is shorter. */
export const healthNameChars = 200;

// Messages are for the tenant, without our machines, addresses and paths: texts of scheduler and kubelet are never quoted.

export interface PodProblem {
  readonly reason: HealthReason;
  readonly message: string;
  /** What the tenant sent is the cause beyond doubt; whatever is not recognised is the cluster's fault. */
  readonly isTenantsFault?: boolean;
  /** Nodes are cordoned, tainted or away that may have been the ones for it. */
  readonly nodesAway?: boolean;
}

/** Of a living pod that is not ready; undefined while it is starting. */
function podProblem(pod: KubeObject): PodProblem | undefined {
  return notPlaced(pod) ?? containerProblemOf(pod);
}

const nodeEnds = ["Preempting", "NodeShutdown", "Terminated", "Shutdown"];

function endedPodProblem(pod: KubeObject): PodProblem | undefined {
  const status = fieldsOf(pod["status"]);
  const why = textOf(status["reason"]) ?? "";
  if (why === "") return containerProblemOf(pod);
  if (why === "Evicted") return { reason: "Evicted", message: evicted(textOf(status["message"]) ?? "") };
  if (nodeEnds.includes(why))
    return { reason: "Evicted", message: "it was stopped because its machine was needed or shut down" };
  if (why === "NodeLost") return nodeLost;
  // Rejected by the kubelet although the scheduler had found room: OutOfcpu, NodeAffinity, UnexpectedAdmissionError …
  return { reason: "Unschedulable", message: "the machine it was given to could not take it after all" };
}

export const nodeLost: PodProblem = {
  reason: "NodeLost",
  message: "the machine it runs on does not answer; it goes on there or is started on another one",
};

export const volumeElsewhere: PodProblem = {
  reason: "VolumeNotBound",
  message: "its volume is on a machine that is not available now, and cannot be moved to another",
};

interface ContainerState {
  /** The tenant's, or a sidecar that the cluster injected. */
  readonly isTenants: boolean;
  readonly image: string;
  readonly restarts: number;
  readonly waiting: Fields;
  readonly terminated: Fields;
  readonly lastEnd: Fields;
}

type Fields = Readonly<Record<string, unknown>>;

function containersOf(pod: KubeObject): ContainerState[] {
  const { initContainerStatuses, containerStatuses } = fieldsOf(pod["status"]);
  const images = new Map(
    recordsOf(fieldsOf(pod["spec"])["containers"]).map(({ name, image }) => [name, textOf(image) ?? ""]),
  );
  return [...recordsOf(initContainerStatuses), ...recordsOf(containerStatuses)].map((container) => {
    const state = fieldsOf(container["state"]);
    return {
      isTenants: container["name"] === pod.metadata.labels?.[serviceLabel],
      // The status may have another name of the same image.
      image: images.get(container["name"]) ?? textOf(container["image"]) ?? "",
      restarts: Number(container["restartCount"]) || 0,
      waiting: fieldsOf(state["waiting"]),
      terminated: fieldsOf(state["terminated"]),
      lastEnd: fieldsOf(fieldsOf(container["lastState"])["terminated"]),
    };
  });
}

function containerProblemOf(pod: KubeObject): PodProblem | undefined {
  for (const container of containersOf(pod)) {
    const problem = containerProblem(container);
    if (problem) return { ...problem, isTenantsFault: container.isTenants && problem.isTenantsFault === true };
  }
  return undefined;
}

const imageErrors = new Set([
  "ErrImagePull",
  "ImagePullBackOff",
  "InvalidImageName",
  "ErrImageNeverPull",
  "ImageInspectError",
  "RegistryUnavailable",
  "SignatureValidationFailed",
]);
const startErrors = new Set([
  "CreateContainerConfigError",
  "CreateContainerError",
  "RunContainerError",
  "PreCreateHookError",
  "PreStartHookError",
  "PostStartHookError",
  "CreatePodSandboxError",
]);

function containerProblem({ image, restarts, waiting, terminated, lastEnd }: ContainerState): PodProblem | undefined {
  const why = textOf(waiting["reason"]) ?? "";
  const words = textOf(waiting["message"]) ?? "";
  if (imageErrors.has(why)) return imageError(image, why, words);
  if (startErrors.has(why)) return cannotStart(words);
  if (why === "CrashLoopBackOff") return crashed(lastEnd, restarts);
  return terminated["exitCode"] === undefined ? undefined : crashed(terminated, restarts);
}

/** The end was not observed: the node or the runtime went down. */
const unseenEnds = new Set(["ContainerStatusUnknown", "Unknown"]);

function crashed(end: Fields, restarts: number): PodProblem {
  const why = textOf(end["reason"]) ?? "";
  const again = restarts > 0 ? `, started again ${restarts === 1 ? "once" : `${restarts} times`}` : "";
  if (why === "OOMKilled") {
    const message = `it used more memory than it has and was ended${again}: give it more memory`;
    return { reason: "OutOfMemory", message, isTenantsFault: true };
  }
  if (why === "StartError" || why === "ContainerCannotRun") return cannotStart(textOf(end["message"]) ?? "");
  const code = Number(end["exitCode"] ?? -1);
  const message =
    code === 0
      ? `it ends by itself, with exit code 0${again}: what a service runs has to go on running`
      : `it ends by itself, with exit code ${code}${again}: its logs say why`;
  return { reason: "CrashLoop", message, isTenantsFault: code > 0 && !unseenEnds.has(why) };
}

/** By the words of kubelet and runtime, the message for the tenant. The first match counts. */
type Cause = readonly [words: RegExp, message: string, isTenantsFault?: true];

const otherArchitecture = "it is not made for the processors of our machines";
const accessDenied =
  "its registry does not let us have it; a private image needs credentials, and a name may be misspelt";
const network =
  /no such host|server misbehaving|timeout|timed out|connection refused|unreachable|reset by peer|EOF|TLS|x509/i;

/** The cluster's own faults come first: the words contain the image's name and digest, which may have 404 in them. */
const pullCauses: readonly Cause[] = [
  [/no match for platform|no matching manifest|exec format/i, otherArchitecture, true],
  [/no space left/i, "there is no room for it on the disk"],
  // containerd says "not found" also of layers that a node has lost.
  [/extract layer|content digest|content store|snapshot/i, "its machine could not unpack it"],
  [network, "its registry does not answer"],
  [/too ?many ?requests|rate limit|\b429\b/i, "its registry has a limit, which is reached; credentials may raise it"],
  [/unauthorized|authentication|denied|forbidden|authorization|\b401\b|\b403\b/i, accessDenied, true],
  [/not found|manifest unknown|does not exist|\b404\b/i, "there is no such image or tag", true],
];

function causeOf(causes: readonly Cause[], words: string) {
  const [, message, isTenantsFault = false] = causes.find(([pattern]) => pattern.test(words)) ?? [];
  return { message, isTenantsFault };
}

function imageError(image: string, why: string, words: string): PodProblem {
  const what = `image ${quoted(image)}`;
  const reason = "ImageError";
  if (why === "InvalidImageName") return { reason, message: `${what} is not a name of an image`, isTenantsFault: true };
  // Words with its name, references and addresses, may contain "tls" or "timeout".
  const [name = ""] = (image.split("/").at(-1) ?? "").split(/[:@]/);
  const others = words.split(" ").filter((word) => name === "" || !word.includes(name));
  const { message, isTenantsFault } = causeOf(pullCauses, others.join(" "));
  return { reason, message: `${what} cannot be pulled${message === undefined ? "" : `: ${message}`}`, isTenantsFault };
}

const otherStartCause = "look at its command, its arguments and its mounts";
const startCauses: readonly Cause[] = [
  // Runtimes write "no such file" and "permission denied" also of a failed mount, and of their own programs.
  [/\bmount(ing|ed)?\b|OCI runtime error/i, otherStartCause],
  // Only of what it executes: hooks, drivers and profiles of a node may lack files as well.
  [/(?<!\/)\bexec(utable)?\b.{0,512}(not found|no such file or directory)/is, "the command is not in the image", true],
  [/exec format error/i, "the program is not made for the processors of our machines", true],
  [/(?<!\/)\bexec(utable)?\b.{0,512}permission denied/is, "the command may not be executed", true],
  [/runAsNonRoot|non-numeric user|unable to find user/i, "the image does not have the user that it is to run as"],
];

function cannotStart(words: string): PodProblem {
  const { message = otherStartCause, isTenantsFault } = causeOf(startCauses, words);
  return { reason: "CannotStart", message: `its container cannot be started: ${message}`, isTenantsFault };
}

/** Undefined once it has a node, and before the scheduler tried. */
function notPlaced(pod: KubeObject): PodProblem | undefined {
  if (textOf(fieldsOf(pod["spec"])["nodeName"])) return undefined;
  const conditions = recordsOf(fieldsOf(pod["status"])["conditions"]);
  const scheduled = conditions.find(({ type, status }) => type === "PodScheduled" && status === "False");
  if (!scheduled) return undefined;
  const words = textOf(scheduled["message"]) ?? "";
  if (/volume node affinity conflict/.test(words)) return volumeElsewhere;
  if (/persistentvolumeclaim|persistent volumes? to bind|volume\(s\)|max volume count/i.test(words)) {
    return { reason: "VolumeNotBound", message: "it waits for its volume, which has not been made yet" };
  }
  const lacking = resources.filter(([pattern]) => pattern.test(words)).map(([, name]) => name);
  const what = lacking.length > 0 ? `: not enough ${lacking.join(", ")}` : "";
  const nodesAway = /were unschedulable|untolerated taint/.test(words);
  return { reason: "Unschedulable", message: `no machine can take it now${what}`, ...(nodesAway && { nodesAway }) };
}

const resources: readonly (readonly [RegExp, string])[] = [
  [/Insufficient cpu/, "cpu"],
  [/Insufficient memory/, "memory"],
  [/Insufficient ephemeral-storage/, "storage"],
  [/Insufficient \S*gpu/, "gpus"],
  [/Too many pods/, "places for replicas"],
];

function evicted(words: string): string {
  if (/exceed/i.test(words)) return "it wrote more to its disk than it has, and was stopped: give it more storage";
  if (/low on resource: memory/i.test(words)) return "it was stopped because its machine ran short of memory";
  if (/low on resource/i.test(words)) return "it was stopped because the disk of its machine ran full";
  return "it was stopped to make room on its machine";
}

function quoted(text: string): string {
  return JSON.stringify(text.length > healthNameChars ? `${text.slice(0, healthNameChars)}…` : text);
}
