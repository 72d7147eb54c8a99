// The three programs of yaobank. The customer page asks summary, summary asks the database, each by the name of a Service:
// one page seen from outside has passed three of them.
import type { Listener, PodView, Program, Question, Reply } from './program.ts';

const ACCOUNT = { number: '314159', owner: 'Ada Yao', balance: '2718.28' };
const KEYS: Readonly<Record<string, string>> = {
  [`/accounts/${ACCOUNT.number}/balance`]: ACCOUNT.balance,
  [`/accounts/${ACCOUNT.number}/owner`]: ACCOUNT.owner,
};

/** What summary tells the customer. */
interface Summary {
  readonly owner: string;
  readonly number: string;
  readonly balance: string;
  readonly summary: string;
  readonly database: string;
}

export const customer: Program = {
  about: "yaobank's front: a page about an account",
  images: /(^|[/-])customer$/,
  listen: (pod) => [
    onePage(async () => {
      const { status, body } = await pod.get('http://summary/');
      if (status !== 200) return { status: 502, body: `summary answered ${status}: ${body}` };
      return { type: 'text/html', body: accountPage(pod.name, JSON.parse(body) as Summary) };
    }),
  ],
};

export const summary: Program = {
  about: 'yaobank in the middle: an account, put together from the database',
  images: /(^|[/-])summary$/,
  listen: (pod) => [
    onePage(async () => {
      const [balance, owner] = await Promise.all([value(pod, 'balance'), value(pod, 'owner')]);
      const told: Summary = {
        owner: owner.value,
        number: ACCOUNT.number,
        balance: balance.value,
        summary: pod.name,
        database: balance.servedBy ?? 'unknown',
      };
      return { type: 'application/json', body: `${JSON.stringify(told)}\n` };
    }),
  ],
};

export const database: Program = {
  about: "yaobank's store: keys and values over HTTP",
  images: /(^|[/-])database$/,
  listen: () => [{ port: 2379, service: { kind: 'http', answer: ({ path }) => keyReply(path) } }],
};

/** A program that has nothing but its front page, on port 80. */
function onePage(front: () => Promise<Reply>): Listener {
  const answer = ({ path }: Question): Promise<Reply> | Reply =>
    path === '/' ? front() : { status: 404, body: `no page ${path}\n` };
  return { port: 80, service: { kind: 'http', answer } };
}

function keyReply(path: string): Reply {
  const key = path.replace(/^\/v2\/keys/, '');
  const found = KEYS[key];
  if (found === undefined) return { status: 404, type: 'application/json', body: '{"message":"Key not found"}\n' };
  return { type: 'application/json', body: `${JSON.stringify({ action: 'get', node: { key, value: found } })}\n` };
}

async function value(pod: PodView, field: string): Promise<{ value: string; servedBy: string | undefined }> {
  const { status, body, servedBy } = await pod.get(`http://database:2379/v2/keys/accounts/${ACCOUNT.number}/${field}`);
  if (status !== 200) throw new Error(`database answered ${status}`);
  return { value: (JSON.parse(body) as { node: { value: string } }).node.value, servedBy };
}

function accountPage(customerPod: string, { owner, number, balance, summary, database }: Summary): string {
  return `<!doctype html>
<html>
<head><title>YAO Bank</title></head>
<body>
<h1>Welcome to YAO Bank</h1>
<p>Name: ${owner}</p>
<p>Account: ${number}</p>
<p>Balance: ${balance}</p>
<p>Served by: ${customerPod}, which asked ${summary}, which asked ${database}</p>
</body>
</html>
`;
}
