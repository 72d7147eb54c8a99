// Finds processes by a mark in their environment, which children inherit: what is left of a program that was killed.
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

export const MARK = 'PORTOLAN_TEST_MARK';

export function processesWith(mark: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => environmentOf(pid).includes(`${MARK}=${mark}`))
    .map(Number);
}

/** Waits until no marked process is left, as the kernel takes a moment to end a whole sandbox. Returns those that stay. */
export async function lastingProcesses(mark: string): Promise<number[]> {
  for (let tries = 0; tries < 100 && processesWith(mark).length > 0; tries++) await delay(50);
  return processesWith(mark);
}

function environmentOf(pid: string): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0');
  } catch {
    return []; // it ended, or is somebody else's
  }
}
