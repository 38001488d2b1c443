/** What makes two Events the same to a person: not the name of the pod that it happened to this time, nor how long it took. */
import { createHash } from "node:crypto";

/** What Kubernetes makes the ends of names from. */
const sign = "[bcdfghjklmnpqrstvwxz2456789]";
const podOfDeployment = new RegExp(`-${sign}{1,10}-${sign}{5}$`);
const replicaSet = new RegExp(`-${sign}{1,10}$`);
const numbered = /-\d+$/;

/** The name without what is another one for each replica or each update. */
export function familyOf(kind: string, name: string): string {
  if (kind === "ReplicaSet") return name.replace(replicaSet, "");
  if (kind !== "Pod" && kind !== "PersistentVolumeClaim") return name;
  const family = kind === "Pod" ? name.replace(podOfDeployment, "") : name;
  return family === name ? name.replace(numbered, "") : family;
}

const uid = /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g;
const generatedName = new RegExp(`-${sign}{5,10}(?:-${sign}{5})?(?![a-z0-9])`, "g");
const duration = /\b(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+(?![a-z])/g;
const hex = /\b[0-9a-f]{7,}\b/gi;
const number = /\d+/g;

/** What a kubelet puts before the words when there are many like these. */
const combined = "(combined from similar events): ";

/** The note without names of pods, ids, times, addresses and amounts. */
export function gist(note: string): string {
  const said = note.startsWith(combined) ? note.slice(combined.length) : note;
  return [uid, generatedName, duration, hex, number].reduce((text, volatile) => text.replace(volatile, "#"), said);
}

/** Short, whatever somebody has written. */
export function keyOf(...parts: readonly string[]): string {
  return createHash("sha256").update(parts.join("\n")).digest("hex").slice(0, 24);
}
