// What is wrong: on this node, in objects, and between the rules that were planned and those the kernel holds.
import type { ProblemsShape, TroubleShape, VerifyShape } from '../src/observe/console/shapes.ts';
import { el } from './dom.ts';
import { agoText, clockText, millisecondsText } from './format.ts';

export interface ProblemsOptions {
  readonly verify: () => Promise<VerifyShape>;
}

export function problemsView({ objects, troubles }: ProblemsShape, { verify }: ProblemsOptions): HTMLElement {
  return el(
    'section',
    { class: 'page' },
    el('h2', {}, 'Problems'),
    verifyPanel(verify),
    el('h3', {}, 'On this node'),
    troubles.length === 0
      ? el('p', { class: 'quiet good' }, 'Nobody touched the rules, and every sync worked.')
      : el('ol', { class: 'troubles' }, ...troubles.map(troubleItem)),
    el('h3', {}, 'In objects'),
    objects.length === 0
      ? el('p', { class: 'quiet good' }, 'Every object was understood.')
      : el(
          'ul',
          { class: 'troubles' },
          ...objects.map(({ object, field, reason }) =>
            el('li', { class: 'trouble' }, el('b', {}, object), el('p', {}, `${field}: ${reason}`)),
          ),
        ),
  );
}

const KINDS: Readonly<Record<TroubleShape['kind'], string>> = {
  drift: 'Drift',
  'sync-failed': 'Sync failed',
};

function troubleItem({ kind, text, at, mendedAt, family }: TroubleShape): HTMLElement {
  return el(
    'li',
    { class: mendedAt === undefined ? 'trouble open' : 'trouble' },
    el('b', {}, KINDS[kind], el('small', {}, ` ${family} · ${clockText(at)} · ${agoText(at)}`)),
    el('p', {}, text),
    el(
      'p',
      { class: mendedAt === undefined ? 'bad' : 'good' },
      mendedAt === undefined ? 'not put right yet' : `put right ${millisecondsText(mendedAt - at)} later`,
    ),
  );
}

/** Three-way truth: what objects mean, what was planned, what the kernel does. */
function verifyPanel(verify: () => Promise<VerifyShape>): HTMLElement {
  const answer = el('div', { class: 'verify-answer', 'aria-live': 'polite' });
  const button = el('button', { type: 'button', class: 'primary' }, 'Check every address now');
  button.addEventListener('click', async () => {
    button.disabled = true;
    answer.replaceChildren(el('p', { class: 'quiet' }, 'Walking packets through the kernel’s rules …'));
    try {
      answer.replaceChildren(...verifyResult(await verify()));
    } catch (error) {
      answer.replaceChildren(el('p', { class: 'bad' }, (error as Error).message));
    }
    button.disabled = false;
  });
  return el(
    'section',
    { class: 'panel verify' },
    el('h3', {}, 'Do the rules do what the objects mean?'),
    el(
      'p',
      { class: 'quiet' },
      'For every address and every kind of client: what the objects say, what was planned, and what the kernel holds.',
    ),
    button,
    answer,
  );
}

function verifyResult(result: VerifyShape): HTMLElement[] {
  const head = `${result.cases.toLocaleString()} cases of ${result.services.toLocaleString()} services in ${millisecondsText(result.milliseconds)}`;
  return [
    el(
      'p',
      { class: result.agrees ? 'verdict good' : 'verdict bad' },
      result.agrees ? `✓ All agree: ${head}.` : `✗ ${result.mismatches.length} differ, of ${head}.`,
    ),
    ...result.mismatches
      .slice(0, 20)
      .map((one) =>
        el(
          'div',
          { class: 'trouble open' },
          el('b', {}, one.cause),
          el('p', {}, `${one.client} → ${one.frontend} (${one.service})`),
          el('p', { class: 'quiet' }, `should be ${one.expected.join(', ')}; is ${one.actual.join(', ')}`),
        ),
      ),
    ...result.drift.slice(0, 20).map((text) => el('div', { class: 'trouble open' }, el('p', {}, text))),
  ];
}
