/** The commands of `svc browser`: pages without a window, which belong to a workspace. */
import { resolve } from 'node:path'
import type { Run } from '../command.ts'
import type { Context } from '../context.ts'
import { usageFailure } from '../failure.ts'
import { toTable } from '../table.ts'
import { terminalLine, terminalText } from '../terminal-text.ts'
import type { Values } from '../values.ts'
import type { Navigation, BrowserPage } from '../workbench/results.ts'
import type { WorkbenchClient } from './client.ts'
import { pickPage, pickWorkspace } from './pick.ts'
import { textOrInput } from './read-input.ts'
import { withWorkbench } from './session.ts'
import { focusLine } from './focus-line.ts'

/** Longer than the browser itself waits, so that its own answer is heard. */
const patienceMs = 5_000

export const open: Run = (context, args, options) =>
  withWorkbench(context, async (client) => {
    const url = args.text('url')
    const workspace = options.text('workspace')
    const { page } = await client.call('browser.open', { workspaceId: workspace && (await pickWorkspace(client, workspace)) })
    if (url === undefined) {
      context.result({ page }, () => page.id)
      return
    }
    const result = await client.call('browser.goto', { url, pageId: page.id })
    context.result(result, () => navigationLine(result))
  })

export const goto: Run = (context, args, options) =>
  withWorkbench(context, async (client) => {
    const workspace = options.text('workspace')
    const done = context.progress({ en: 'loading…', zh: '正在加载…' })
    try {
      const result = await client.call(
        'browser.goto',
        {
          url: args.need('url'),
          pageId: await pageOf(client, options),
          workspaceId: workspace && (await pickWorkspace(client, workspace)),
          wait: loadState(options.text('wait')),
          timeoutMs: context.timeoutMs,
          allowFile: options.flag('allow-file'),
        },
        patience(context),
      )
      done()
      context.result(result, () => navigationLine(result))
    } finally {
      done()
    }
  })

export const back: Run = (context, _args, options) => step(context, options, 'browser.back')
export const forward: Run = (context, _args, options) => step(context, options, 'browser.forward')
export const reload: Run = (context, _args, options) => step(context, options, 'browser.reload')

export const snapshot: Run = (context, _args, options) =>
  withWorkbench(context, async (client) => {
    const result = await client.call('browser.snapshot', {
      pageId: await pageOf(client, options),
      selector: options.text('selector'),
      depth: options.number('depth'),
      maxBytes: options.number('max-bytes'),
    })
    if (result.truncated)
      context.note({ en: 'The snapshot was cut; --max-bytes allows more.', zh: '快照已截断;可用 --max-bytes 增大上限。' })
    context.result(result, () => terminalText(result.text))
  })

export const fill: Run = (context, _args, options) =>
  withWorkbench(context, async (client) => {
    const text = await textOrInput(context, options.need('text'))
    const result = await client.call('browser.fill', {
      pageId: await pageOf(client, options),
      selector: options.need('selector'),
      text,
    })
    context.result(result, () => '')
  })

export const click: Run = (context, _args, options) =>
  withWorkbench(context, async (client) => {
    const result = await client.call('browser.click', {
      pageId: await pageOf(client, options),
      selector: options.need('selector'),
    })
    context.result(result, () => '')
  })

export const type: Run = (context, _args, options) =>
  withWorkbench(context, async (client) => {
    const text = await textOrInput(context, options.need('text'))
    const result = await client.call('browser.type', {
      pageId: await pageOf(client, options),
      selector: options.text('selector'),
      text,
    })
    context.result(result, () => '')
  })

export const press: Run = (context, args, options) =>
  withWorkbench(context, async (client) => {
    const result = await client.call('browser.press', {
      pageId: await pageOf(client, options),
      selector: options.text('selector'),
      key: args.need('key'),
    })
    context.result(result, () => '')
  })

export const select: Run = (context, _args, options) =>
  withWorkbench(context, async (client) => {
    const values = [...options.list('value')]
    if (values.length === 0) throw usageFailure({ en: 'Name at least one --value.', zh: '请至少指定一个 --value。' })
    const result = await client.call('browser.select', {
      pageId: await pageOf(client, options),
      selector: options.need('selector'),
      values,
    })
    context.result(result, () => terminalText(result.selected.join('\n')))
  })

export const check: Run = (context, _args, options) =>
  withWorkbench(context, async (client) => {
    const result = await client.call('browser.check', {
      pageId: await pageOf(client, options),
      selector: options.need('selector'),
      checked: !options.flag('off'),
    })
    context.result(result, () => '')
  })

export const wait: Run = (context, _args, options) =>
  withWorkbench(context, async (client) => {
    const result = await client.call(
      'browser.wait',
      {
        pageId: await pageOf(client, options),
        selector: options.text('selector'),
        text: options.text('text'),
        url: options.text('url'),
        load: loadState(options.text('load')),
        gone: options.flag('gone'),
        timeoutMs: context.timeoutMs,
      },
      patience(context),
    )
    context.result(result, () => terminalLine(result.page.url))
  })

export const get: Run = (context, args, options) =>
  withWorkbench(context, async (client) => {
    const result = await client.call('browser.get', {
      pageId: await pageOf(client, options),
      selector: options.text('selector'),
      what: property(args.need('what')),
      name: options.text('name'),
    })
    context.result(result, () => terminalText(result.value ?? ''))
  })

export const evaluate: Run = (context, args, options) =>
  withWorkbench(context, async (client) => {
    const expression = await textOrInput(context, args.need('expression'))
    const result = await client.call('browser.eval', { pageId: await pageOf(client, options), expression })
    context.result(result, () =>
      terminalText(typeof result.value === 'string' ? result.value : JSON.stringify(result.value, null, 2)),
    )
  })

export const screenshot: Run = (context, args, options) =>
  withWorkbench(context, async (client) => {
    const file = args.text('file')
    const result = await client.call('browser.screenshot', {
      pageId: await pageOf(client, options),
      path: file === undefined ? undefined : resolve(file),
      fullPage: options.flag('full-page'),
    })
    context.result(result, () => result.path)
  })

export const list: Run = (context) =>
  withWorkbench(context, async (client) => {
    const result = await client.call('browser.list', {})
    context.result(result, () => pageTable(context, result.pages))
  })

export const close: Run = (context, args) =>
  withWorkbench(context, async (client) => {
    const word = args.text('page')
    context.result(await client.call('browser.close', { pageId: word && (await pickPage(client, word)) }), () => '')
  })

export const focus: Run = (context, args) =>
  withWorkbench(context, async (client) => {
    const word = args.text('page')
    const result = await client.call('browser.focus', { pageId: word && (await pickPage(client, word)) })
    context.result(result, () => focusLine(result.focused))
  })

function pageTable(context: Context, pages: readonly BrowserPage[]): string {
  return toTable(pages, [
    { heading: 'ID', cell: (page) => page.id },
    { heading: context.say({ en: 'WORKSPACE', zh: '工作区' }), cell: (page) => page.workspaceId },
    { heading: context.say({ en: 'TITLE', zh: '标题' }), cell: (page) => terminalLine(page.title) },
    { heading: context.say({ en: 'ADDRESS', zh: '地址' }), cell: (page) => terminalLine(page.url) },
  ])
}

function step(context: Context, options: Values, method: 'browser.back' | 'browser.forward' | 'browser.reload'): ReturnType<Run> {
  return withWorkbench(context, async (client) => {
    const result = await client.call(
      method,
      { pageId: await pageOf(client, options), wait: loadState(options.text('wait')), timeoutMs: context.timeoutMs },
      patience(context),
    )
    context.result(result, () => navigationLine(result))
  })
}

function navigationLine({ page, status, finalUrl }: Navigation): string {
  return [page.id, status === null ? '-' : String(status), terminalLine(finalUrl), terminalLine(page.title)].join('  ').trimEnd()
}

async function pageOf(client: WorkbenchClient, options: Values): Promise<string | undefined> {
  const word = options.text('page')
  return word && pickPage(client, word)
}

type LoadState = 'load' | 'domcontentloaded' | 'networkidle'

function patience(context: Context): number {
  return (context.timeoutMs ?? 60_000) + patienceMs
}

function loadState(word: string | undefined): LoadState | undefined {
  if (word === undefined || word === 'load' || word === 'domcontentloaded' || word === 'networkidle') return word
  throw usageFailure({
    en: 'A load state is load, domcontentloaded or networkidle.',
    zh: '加载状态为 load、domcontentloaded 或 networkidle。',
  })
}

const properties = ['url', 'title', 'text', 'html', 'value', 'attribute', 'count'] as const

function property(word: string): (typeof properties)[number] {
  const found = properties.find((name) => name === word)
  if (found) return found
  throw usageFailure({ en: `What to get is one of: ${properties.join(', ')}.`, zh: `可获取的内容为:${properties.join('、')}。` })
}
