// Drift in words.
import type { Drift } from './drift.ts';

export function driftText(drift: Drift): string {
  const place = `${drift.table} ${drift.chain}`;
  switch (drift.kind) {
    case 'missing-chain':
      return `${place}: the chain is missing`;
    case 'extra-chain':
      return `${place}: nothing asks for this chain`;
    case 'missing-rule':
      return `${place}: missing: ${drift.rule}`;
    case 'extra-rule':
      return `${place}: nothing asks for: ${drift.rule}`;
    case 'wrong-probability':
      return `${place}: takes the wrong share: ${drift.rule}`;
    case 'wrong-order':
      return `${place}: in the wrong place: ${drift.rule}`;
    case 'missing-row':
      return `${place}: missing row: ${drift.row}`;
    case 'extra-row':
      return `${place}: nothing asks for row: ${drift.row}`;
    case 'wrong-row':
      return `${place}: row ${drift.row} should be ${drift.planned}`;
    case 'second-copy':
      return `${place}: the ${drift.tables} tables hold rules of the proxy too`;
  }
}
