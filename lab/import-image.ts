/** Gives containerd an image, when containerd does not have that very content yet. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { describeImage, type Image, writeArchive } from "../tools/image/image.ts";
import { ctr } from "./containerd.ts";
import { places } from "./places.ts";

/** The source hash of an imported image is a label of the image, so that it is deleted with it. */
const contentLabel = "akash-provider-lab/content";

/** Whether it had to be imported. */
export function importImage(image: Image): boolean {
  const described = describeImage(image);
  if (contentOf(image.name) === described.id) return false;
  const archive = join(places.state, `image-${process.pid}.tar`);
  try {
    writeArchive(archive, described);
    ctr("images", "import", archive);
  } finally {
    rmSync(archive, { force: true });
  }
  ctr("images", "label", image.name, `${contentLabel}=${described.id}`);
  return true;
}

function contentOf(name: string): string | undefined {
  const row = ctr("images", "list", `name==${name}`);
  return new RegExp(`${contentLabel}=(\\S+?)[,\\s]`).exec(row)?.[1];
}
