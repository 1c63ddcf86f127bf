/** The commands of `svc browser`: pages without a window, which belong to a workspace. */
import { resolve } from 'node:path'
import type { CommandHandler } from '../command.ts'
import type { Context } from '../context.ts'
import { createUsageFailure } from '../failure.ts'
import { drawTable } from '../terminal/draw-table.ts'
import { sanitizeLine, sanitizeText } from '../terminal/sanitize-text.ts'
import type { ParsedValues } from '../../command-table/parsed-values.ts'
import type { Navigation, BrowserPage } from '../workbench/protocol/results.ts'
import type { WorkbenchClient } from './connection/workbench-client.ts'
import { resolvePageId, resolveWorkspaceId } from './connection/resolve-id.ts'
import { readTextOrStdin } from '../read-stdin.ts'
import { withWorkbench } from './connection/with-workbench.ts'
import { formatFocus } from './pane.ts'

/** Longer than the browser's own timeout, so that its answer arrives. */
const replyGraceMs = 5_000

export const open: CommandHandler = (context, args, options) =>
  withWorkbench(context, async (client) => {
    const url = args.getText('url')
    const workspace = options.getText('workspace')
    const { page } = await client.call('browser.open', {
      workspaceId: workspace && (await resolveWorkspaceId(client, workspace)),
    })
    if (url === undefined) {
      context.printResult({ page }, () => page.id)
      return
    }
    const result = await client.call('browser.goto', { url, pageId: page.id })
    context.printResult(result, () => formatNavigation(result))
  })

export const goto: CommandHandler = (context, args, options) =>
  withWorkbench(context, async (client) => {
    const workspace = options.getText('workspace')
    const stopProgress = context.showProgress({ en: 'loading…', zh: '正在加载…' })
    try {
      const result = await client.call(
        'browser.goto',
        {
          url: args.requireText('url'),
          pageId: await findPageId(client, options),
          workspaceId: workspace && (await resolveWorkspaceId(client, workspace)),
          wait: parseLoadState(options.getText('wait')),
          timeoutMs: context.timeoutMs,
          allowFile: options.getFlag('allow-file'),
        },
        getCallTimeoutMs(context),
      )
      stopProgress()
      context.printResult(result, () => formatNavigation(result))
    } finally {
      stopProgress()
    }
  })

export const back: CommandHandler = (context, _args, options) => navigateHistory(context, options, 'browser.back')
export const forward: CommandHandler = (context, _args, options) => navigateHistory(context, options, 'browser.forward')
export const reload: CommandHandler = (context, _args, options) => navigateHistory(context, options, 'browser.reload')

export const snapshot: CommandHandler = (context, _args, options) =>
  withWorkbench(context, async (client) => {
    const result = await client.call('browser.snapshot', {
      pageId: await findPageId(client, options),
      selector: options.getText('selector'),
      depth: options.getNumber('depth'),
      maxBytes: options.getNumber('max-bytes'),
    })
    if (result.truncated)
      context.printNote({ en: 'The snapshot was cut; --max-bytes allows more.', zh: '快照已截断；可用 --max-bytes 增大上限。' })
    context.printResult(result, () => sanitizeText(result.text))
  })

export const fill: CommandHandler = (context, _args, options) =>
  withWorkbench(context, async (client) => {
    const text = await readTextOrStdin(context, options.requireText('text'))
    const result = await client.call('browser.fill', {
      pageId: await findPageId(client, options),
      selector: options.requireText('selector'),
      text,
    })
    context.printResult(result, () => '')
  })

export const click: CommandHandler = (context, _args, options) =>
  withWorkbench(context, async (client) => {
    const result = await client.call('browser.click', {
      pageId: await findPageId(client, options),
      selector: options.requireText('selector'),
    })
    context.printResult(result, () => '')
  })

export const type: CommandHandler = (context, _args, options) =>
  withWorkbench(context, async (client) => {
    const text = await readTextOrStdin(context, options.requireText('text'))
    const result = await client.call('browser.type', {
      pageId: await findPageId(client, options),
      selector: options.getText('selector'),
      text,
    })
    context.printResult(result, () => '')
  })

export const press: CommandHandler = (context, args, options) =>
  withWorkbench(context, async (client) => {
    const result = await client.call('browser.press', {
      pageId: await findPageId(client, options),
      selector: options.getText('selector'),
      key: args.requireText('key'),
    })
    context.printResult(result, () => '')
  })

export const select: CommandHandler = (context, _args, options) =>
  withWorkbench(context, async (client) => {
    const values = [...options.getList('value')]
    if (values.length === 0) throw createUsageFailure({ en: 'Name at least one --value.', zh: '请至少指定一个 --value。' })
    const result = await client.call('browser.select', {
      pageId: await findPageId(client, options),
      selector: options.requireText('selector'),
      values,
    })
    context.printResult(result, () => sanitizeText(result.selected.join('\n')))
  })

export const check: CommandHandler = (context, _args, options) =>
  withWorkbench(context, async (client) => {
    const result = await client.call('browser.check', {
      pageId: await findPageId(client, options),
      selector: options.requireText('selector'),
      checked: !options.getFlag('off'),
    })
    context.printResult(result, () => '')
  })

export const wait: CommandHandler = (context, _args, options) =>
  withWorkbench(context, async (client) => {
    const result = await client.call(
      'browser.wait',
      {
        pageId: await findPageId(client, options),
        selector: options.getText('selector'),
        text: options.getText('text'),
        url: options.getText('url'),
        load: parseLoadState(options.getText('load')),
        gone: options.getFlag('gone'),
        timeoutMs: context.timeoutMs,
      },
      getCallTimeoutMs(context),
    )
    context.printResult(result, () => sanitizeLine(result.page.url))
  })

export const get: CommandHandler = (context, args, options) =>
  withWorkbench(context, async (client) => {
    const result = await client.call('browser.get', {
      pageId: await findPageId(client, options),
      selector: options.getText('selector'),
      what: parseProperty(args.requireText('what')),
      name: options.getText('name'),
    })
    context.printResult(result, () => sanitizeText(result.value ?? ''))
  })

export const evaluate: CommandHandler = (context, args, options) =>
  withWorkbench(context, async (client) => {
    const expression = await readTextOrStdin(context, args.requireText('expression'))
    const result = await client.call('browser.eval', { pageId: await findPageId(client, options), expression })
    context.printResult(result, () =>
      sanitizeText(typeof result.value === 'string' ? result.value : JSON.stringify(result.value, null, 2)),
    )
  })

export const screenshot: CommandHandler = (context, args, options) =>
  withWorkbench(context, async (client) => {
    const file = args.getText('file')
    const result = await client.call('browser.screenshot', {
      pageId: await findPageId(client, options),
      path: file === undefined ? undefined : resolve(file),
      fullPage: options.getFlag('full-page'),
    })
    context.printResult(result, () => result.path)
  })

export const list: CommandHandler = (context) =>
  withWorkbench(context, async (client) => {
    const result = await client.call('browser.list', {})
    context.printResult(result, () => formatPageTable(context, result.pages))
  })

export const close: CommandHandler = (context, args) =>
  withWorkbench(context, async (client) => {
    const word = args.getText('page')
    context.printResult(await client.call('browser.close', { pageId: word && (await resolvePageId(client, word)) }), () => '')
  })

export const focus: CommandHandler = (context, args) =>
  withWorkbench(context, async (client) => {
    const word = args.getText('page')
    const result = await client.call('browser.focus', { pageId: word && (await resolvePageId(client, word)) })
    context.printResult(result, () => formatFocus(result.focused))
  })

function formatPageTable(context: Context, pages: readonly BrowserPage[]): string {
  return drawTable(context, pages, [
    { heading: 'ID', cell: (page) => page.id },
    { heading: context.localize({ en: 'WORKSPACE', zh: '工作区' }), cell: (page) => page.workspaceId, drop: 2 },
    { heading: context.localize({ en: 'TITLE', zh: '标题' }), cell: (page) => sanitizeLine(page.title), drop: 1 },
    { heading: context.localize({ en: 'ADDRESS', zh: '地址' }), cell: (page) => sanitizeLine(page.url) },
  ])
}

function navigateHistory(
  context: Context,
  options: ParsedValues,
  method: 'browser.back' | 'browser.forward' | 'browser.reload',
): ReturnType<CommandHandler> {
  return withWorkbench(context, async (client) => {
    const result = await client.call(
      method,
      { pageId: await findPageId(client, options), wait: parseLoadState(options.getText('wait')), timeoutMs: context.timeoutMs },
      getCallTimeoutMs(context),
    )
    context.printResult(result, () => formatNavigation(result))
  })
}

function formatNavigation({ page, status, finalUrl }: Navigation): string {
  return [page.id, status === null ? '-' : String(status), sanitizeLine(finalUrl), sanitizeLine(page.title)].join('  ').trimEnd()
}

async function findPageId(client: WorkbenchClient, options: ParsedValues): Promise<string | undefined> {
  const word = options.getText('page')
  return word && resolvePageId(client, word)
}

type LoadState = 'load' | 'domcontentloaded' | 'networkidle'

function getCallTimeoutMs(context: Context): number {
  return (context.timeoutMs ?? 60_000) + replyGraceMs
}

function parseLoadState(word: string | undefined): LoadState | undefined {
  if (word === undefined || word === 'load' || word === 'domcontentloaded' || word === 'networkidle') return word
  throw createUsageFailure({
    en: 'A load state is load, domcontentloaded or networkidle.',
    zh: '加载状态为 load、domcontentloaded 或 networkidle。',
  })
}

const properties = ['url', 'title', 'text', 'html', 'value', 'attribute', 'count'] as const

function parseProperty(word: string): (typeof properties)[number] {
  const property = properties.find((name) => name === word)
  if (property) return property
  throw createUsageFailure({
    en: `What to get is one of: ${properties.join(', ')}.`,
    zh: `可获取的内容为：${properties.join('、')}。`,
  })
}
