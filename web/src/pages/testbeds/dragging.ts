/** What is dragged between the parts of the builder: a job, from a slot or from a position of a list. */
import type { DragEvent } from "react";

const JOB = "application/x-shunter-job";
const SLOT = "application/x-shunter-slot";
const POSITION = "application/x-shunter-position";

export function dragJob(event: DragEvent, job: string, slot?: number): void {
  event.dataTransfer.setData(JOB, job);
  event.dataTransfer.setData("text/plain", job);
  if (slot !== undefined) event.dataTransfer.setData(SLOT, String(slot));
}

export function dragPosition(event: DragEvent, position: number): void {
  event.dataTransfer.setData(POSITION, String(position));
}

export function draggedJob(event: DragEvent): string | null {
  return event.dataTransfer.getData(JOB) || null;
}

/** The slot that it leaves, if any. */
export function draggedSlot(event: DragEvent): number | null {
  return numberOf(event.dataTransfer.getData(SLOT));
}

export function draggedPosition(event: DragEvent): number | null {
  return numberOf(event.dataTransfer.getData(POSITION));
}

function numberOf(text: string): number | null {
  return text === "" ? null : Number(text);
}
