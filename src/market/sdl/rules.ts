/** What must fit together between the parts of an SDL: endpoints and their ports, volumes and where they are mounted. */

import { persistenceOf } from "./compute.ts";
import { at, entriesOf, type Field, fault, textOf } from "./fields.ts";
import type { Placed, SdlVersion } from "./sdl.ts";

const endpointName = /^[a-z]+[a-z\-_0-9]+$/;

export function faultsBetweenParts(root: Field, version: SdlVersion, placed: readonly Placed[]): void {
  checkEndpoints(root, placed);
  for (const one of placed) checkVolumes(version, one);
  checkTee(placed);
}

function checkEndpoints(root: Field, placed: readonly Placed[]): void {
  const declared = new Map(entriesOf(at(root, "endpoints")));
  for (const [name, field] of declared) {
    if (!endpointName.test(name)) fault(field, "a name has two or more of a-z, 0-9, - and _, and begins with a letter");
    if (textOf(at(field, "kind")) !== "ip") fault(at(field, "kind"), "must be ip");
  }
  const used = new Set<string>();
  const users = new Map<string, string>();
  for (const { name, service } of placed) {
    for (const { externalPort, writtenProto, to, field } of service.exposes) {
      // Declared by its use.
      const ipName = textOf(at(field, "ip_name"));
      if (ipName !== "" && !endpointName.test(ipName)) fault(at(field, "ip_name"), "is not a name of an endpoint");
      if (ipName !== "" && !to.some(({ ip }) => ip === ipName))
        fault(at(field, "ip_name"), "an address needs a target with global: true");
      for (const { field, global, ip } of to) {
        if (ip === "") continue;
        used.add(ip);
        if (!global) fault(field, "an address needs global: true");
        if (!declared.has(ip) && ip !== ipName) fault(at(field, "ip"), `there is no endpoint named ${ip}`);
        const key = `${ip}-${externalPort}-${writtenProto}`;
        const user = users.get(key);
        if (user !== undefined) fault(field, `the port of ${ip} is taken by ${user} already`);
        users.set(key, name);
      }
    }
  }
  for (const [name, field] of declared) if (!used.has(name)) fault(field, "is never used");
}

function checkVolumes(version: SdlVersion, { name, service, compute, profile }: Placed): void {
  const mounted = service.params?.storage ?? [];
  const mounts = new Set<string>();
  for (const { field, name: volumeName, mount, readOnly } of mounted) {
    const volume = compute.storage.find((one) => one.name === volumeName);
    if (!volume) fault(field, `the profile ${profile} has no volume of this name`);
    if (!mount.startsWith("/")) fault(at(field, "mount"), "must be an absolute path");
    if (mounts.has(mount)) fault(at(field, "mount"), `${mount} is taken by another volume`);
    mounts.add(mount);
    const isRam = volume?.attributes.some(({ key, value }) => key === "class" && value === "ram");
    if (version !== "2.0" && isRam && readOnly) fault(at(field, "readOnly"), "memory cannot be read-only");
  }
  // In 2.0 any mount will do for all volumes; from 2.1 on only those that are mentioned are looked at, and these have one.
  const lost =
    version === "2.0" && mounted.length === 0 && compute.storage.find((one) => persistenceOf(one) === "true");
  if (lost) fault(service.field, `${name} must say where its persistent volume ${lost.name} is mounted`);
}

function checkTee(placed: readonly Placed[]): void {
  const types = new Map<string, string>();
  for (const { service, compute, placement } of placed) {
    const tee = service.params?.tee ?? "";
    if (tee === "") continue;
    const field = at(at(service.field, "params"), "tee");
    if (tee === "cpu-gpu" && compute.gpu.count === 0n) fault(field, "cpu-gpu needs a gpu");
    const other = types.get(placement.name) ?? tee;
    if (other !== tee) fault(field, `${placement.name} holds services with ${other} already`);
    types.set(placement.name, other);
  }
}
