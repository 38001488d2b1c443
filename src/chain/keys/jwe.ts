/** An encrypted item as keyrings on disk store it: a JWE whose key is wrapped under a pass-phrase (RFC 7516, 7518). */
import { createDecipheriv, pbkdf2 } from "node:crypto";
import { promisify } from "node:util";
import { z } from "zod";

/** Rounds of PBKDF2 that an entry of a keyring may ask for: what the network's tools accept, about a second. */
const keyringIterations = 1_300_000;

const derive = promisify(pbkdf2);

/** The one combination that keyrings are written with. */
const keyWrap = "PBES2-HS256+A128KW";
const content = "A256GCM";
const headerSchema = z.object({
  alg: z.literal(keyWrap),
  enc: z.literal(content),
  p2c: z.int().min(1).max(keyringIterations),
  p2s: z.base64url(),
});

const wrapIv = Buffer.alloc(8, 0xa6);
const tagBytes = 16;

/** "passphrase": it does not open this item. Any other fault is one of the item itself. */
type JweFault = { readonly fault: "passphrase" } | { readonly fault: "damaged"; readonly reason: string };

export async function decryptJwe(token: string, passphrase: string): Promise<Buffer | JweFault> {
  const parts = token.trim().split(".");
  const [protectedHeader = "", ...rest] = parts;
  const [wrappedKey, iv, encrypted, tag] = rest.map((part) => Buffer.from(part, "base64url"));
  if (parts.length !== 5 || !wrappedKey || !iv || !encrypted || !tag) return damaged("it is not an encrypted item");
  const header = readHeader(protectedHeader);
  if (!header) return damaged(`it is not encrypted with ${keyWrap} and ${content}`);

  const salt = Buffer.concat([Buffer.from(`${header.alg}\0`), Buffer.from(header.p2s, "base64url")]);
  const wrappingKey = await derive(passphrase, salt, header.p2c, 16, "sha256");
  const key = open(() => {
    const cipher = createDecipheriv("id-aes128-wrap", wrappingKey, wrapIv);
    return Buffer.concat([cipher.update(wrappedKey), cipher.final()]);
  });
  if (!key) return { fault: "passphrase" };
  const plain = open(() => {
    const cipher = createDecipheriv("aes-256-gcm", key, iv, { authTagLength: tagBytes });
    cipher.setAAD(Buffer.from(protectedHeader, "ascii")).setAuthTag(tag);
    return Buffer.concat([cipher.update(encrypted), cipher.final()]);
  });
  return plain ?? damaged("its contents were changed after it was written");
}

function readHeader(part: string): z.infer<typeof headerSchema> | undefined {
  try {
    return headerSchema.parse(JSON.parse(Buffer.from(part, "base64url").toString("utf8")));
  } catch {
    return undefined;
  }
}

/** What the cipher yields, or undefined when its own check of the bytes failed. */
function open(decrypt: () => Buffer): Buffer | undefined {
  try {
    return decrypt();
  } catch {
    return undefined;
  }
}

function damaged(reason: string): JweFault {
  return { fault: "damaged", reason };
}
