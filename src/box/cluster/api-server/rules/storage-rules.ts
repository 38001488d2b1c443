/** What claims, config maps and secrets must be like. */

import { fieldsOf, listOf } from "../../../../kube/json-fields.ts";
import { parseJson } from "../../../../runtime/parse-json.ts";
import { nano } from "./container-rules.ts";
import type { Rule } from "./found.ts";
import { fileName, subdomain } from "./texts.ts";

const claimSpec: Rule = (spec, at, found) => {
  const modes = listOf(spec["accessModes"]);
  if (modes.length === 0) found.required(`${at}.accessModes`, "at least 1 access mode is required");
  const known = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
  for (const mode of modes) if (!known.includes(String(mode))) found.unsupported(`${at}.accessModes`, mode, known);
  const { storage } = fieldsOf(fieldsOf(spec["resources"])["requests"]);
  if (storage === undefined) found.required(`${at}.resources[storage]`);
  else if (nano(storage) <= 0n) {
    found.invalid(`${at}.resources[storage]`, storage, "must be greater than zero");
  }
  found.text(`${at}.storageClassName`, spec["storageClassName"], subdomain);
};

/** What etcd holds of one. */
const mostDataBytes = 1024 * 1024;

const configMap: Rule = ({ data, binaryData }, _, found) => {
  const [texts, blobs] = [fieldsOf(data), fieldsOf(binaryData)];
  for (const name of Object.keys(texts)) {
    found.text(`data[${name}]`, name, fileName);
    if (name in blobs) found.invalid(`data[${name}]`, name, "duplicate of key present in binaryData");
  }
  for (const name of Object.keys(blobs)) found.text(`binaryData[${name}]`, name, fileName);
  const bytes = sum(Object.values(texts).map((text) => Buffer.byteLength(String(text)))) + bytesIn(blobs);
  if (bytes > mostDataBytes) found.tooLong("[]", mostDataBytes);
};

const secret: Rule = ({ data, type }, _, found) => {
  const blobs = fieldsOf(data);
  for (const name of Object.keys(blobs)) found.text(`data[${name}]`, name, fileName);
  if (bytesIn(blobs) > mostDataBytes) found.tooLong("data", mostDataBytes);
  for (const name of neededKeys[String(type)] ?? []) if (blobs[name] === undefined) found.required(`data[${name}]`);
  const credentials = type === "kubernetes.io/dockerconfigjson" ? blobs[".dockerconfigjson"] : undefined;
  if (credentials !== undefined && parseJson(Buffer.from(String(credentials), "base64").toString()) === undefined) {
    found.invalid("data[.dockerconfigjson]", "<secret contents redacted>", "unexpected end of JSON input");
  }
};

const neededKeys: Readonly<Record<string, readonly string[]>> = {
  "kubernetes.io/dockerconfigjson": [".dockerconfigjson"],
  "kubernetes.io/dockercfg": [".dockercfg"],
  "kubernetes.io/tls": ["tls.crt", "tls.key"],
  "kubernetes.io/ssh-auth": ["ssh-privatekey"],
};

function bytesIn(blobs: Readonly<Record<string, unknown>>): number {
  return sum(Object.values(blobs).map((blob) => Buffer.byteLength(String(blob), "base64")));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, each) => all + each, 0);
}

export const storageRules: Readonly<Record<string, Rule>> = {
  "core.v1.PersistentVolumeClaimSpec": claimSpec,
  "core.v1.ConfigMap": configMap,
  "core.v1.Secret": secret,
};
