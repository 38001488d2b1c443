/** The public certificate of a gateway in files, on the clock of a stage. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../src/runtime/clock.ts";
import { temporaryFolder } from "../support/folder.ts";
import type { Owner } from "../support/owner.ts";
import { certificateTime, makeCertificate } from "../support/test-certificate.ts";

export const publicHost = "provider.example.com";
export const day = 86_400_000;

export function certificateFiles(t: Owner, { clock }: { readonly clock: Pick<Clock, "now"> }) {
  const folder = temporaryFolder(t);
  const paths = { certificate: join(folder, "public.pem"), key: join(folder, "public.key") };
  return {
    folder,
    paths,
    write(lastsMs: number): void {
      const times = { from: certificateTime(clock.now() - day), until: certificateTime(clock.now() + lastsMs) };
      const { certPem, keyPem } = makeCertificate({ name: publicHost, host: publicHost, ...times });
      writeFileSync(paths.certificate, certPem);
      writeFileSync(paths.key, keyPem);
    },
    spoil: () => writeFileSync(paths.certificate, "no certificate"),
  };
}
