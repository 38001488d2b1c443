/** `npm run image`: writes our container image and says where it is. */
import { mkdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { describeImage, writeArchive } from "./image.ts";
import { providerImage } from "./provider-image.ts";

const root = join(import.meta.dirname, "../..");

const usage = `usage: npm run image -- [--name NAME] [--output FILE] [--offline]

  --name NAME    what the image is called, with your registry; default: that of deploy/
  --output FILE  where it goes; default: dist/akash-provider-<version>.tar
  --offline      does not ask Debian for newer packages`;

const say = (line: string) => void process.stdout.write(`${line}\n`);

function main(): void {
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
  const { values } = parseArgs({
    options: {
      name: { type: "string", default: `registry.invalid/akash-provider:${version}` },
      output: { type: "string", default: join(root, `dist/akash-provider-${version}.tar`) },
      offline: { type: "boolean", default: false },
    },
  });
  const path = resolve(values.output);
  mkdirSync(dirname(path), { recursive: true });
  const image = describeImage(providerImage({ name: values.name, refresh: !values.offline, say }));
  const bytes = writeArchive(path, image);
  say(`${"archive".padEnd(8)} ${path} (${Math.round(bytes / 1e6)} MB)`);
  say(`${"image".padEnd(8)} ${image.name}`);
  say(`${"id".padEnd(8)} ${image.id}`);
}

try {
  main();
} catch (error) {
  const isUsage = String((error as NodeJS.ErrnoException).code).startsWith("ERR_PARSE_ARGS");
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${isUsage ? `\n${usage}\n` : ""}`);
  process.exitCode = isUsage ? 2 : 1;
}
