/** The methods of the protocol for pages of the browser. */
import { z } from 'zod'
import { id, cwd, result } from './define-method.ts'
import type { MethodDefinition } from './define-method.ts'
import { limits } from './protocol.ts'
import type { Focus, BrowserPage, Navigation, Done } from './results.ts'

const page = { pageId: id.optional() }
const selector = z.string().min(1).max(4_096)
const timeoutMs = z.number().int().min(1).max(600_000)
const wait = z.enum(['load', 'domcontentloaded', 'networkidle'])
const step = z.strictObject({ ...page, wait: wait.optional(), timeoutMs: timeoutMs.optional() })

export const browserMethods = {
  'browser.open': {
    summary: 'open a page',
    params: z.strictObject({ workspaceId: id.optional() }),
    result: result<{ readonly page: BrowserPage }>(),
  },
  'browser.close': {
    summary: 'close a page',
    params: z.strictObject({ ...page }),
    result: result<Done>(),
  },
  'browser.list': {
    summary: 'the pages',
    params: z.strictObject({ workspaceId: id.optional() }),
    result: result<{ readonly pages: readonly BrowserPage[] }>(),
  },
  'browser.goto': {
    summary: 'open an address',
    params: z.strictObject({
      url: z.string().min(1).max(16_384),
      ...page,
      workspaceId: id.optional(),
      wait: wait.optional(),
      timeoutMs: timeoutMs.optional(),
      allowFile: z.boolean().optional(),
    }),
    result: result<Navigation>(),
  },
  'browser.back': {
    summary: 'go back',
    params: step,
    result: result<Navigation>(),
  },
  'browser.forward': {
    summary: 'go forward',
    params: step,
    result: result<Navigation>(),
  },
  'browser.reload': {
    summary: 'load again',
    params: step,
    result: result<Navigation>(),
  },
  'browser.snapshot': {
    summary: 'the page as a tree of roles and names',
    params: z.strictObject({
      ...page,
      selector: selector.optional(),
      depth: z.number().int().min(1).max(100).optional(),
      maxBytes: z
        .number()
        .int()
        .min(1)
        .max(limits.replyBytes / 2)
        .optional(),
    }),
    result: result<{
      readonly page: BrowserPage
      readonly snapshotId: string
      readonly text: string
      readonly truncated: boolean
    }>(),
  },
  'browser.fill': {
    summary: 'put text into a field',
    params: z.strictObject({ ...page, selector, text: z.string() }),
    result: result<{ readonly page: BrowserPage }>(),
  },
  'browser.click': {
    summary: 'click an element',
    params: z.strictObject({ ...page, selector }),
    result: result<{ readonly page: BrowserPage }>(),
  },
  'browser.type': {
    summary: 'type text key by key',
    params: z.strictObject({ ...page, selector: selector.optional(), text: z.string() }),
    result: result<{ readonly page: BrowserPage }>(),
  },
  'browser.press': {
    summary: 'press a key',
    params: z.strictObject({ ...page, selector: selector.optional(), key: z.string().min(1).max(64) }),
    result: result<{ readonly page: BrowserPage }>(),
  },
  'browser.select': {
    summary: 'choose in a list',
    params: z.strictObject({ ...page, selector, values: z.array(z.string()).min(1).max(100) }),
    result: result<{ readonly page: BrowserPage; readonly selected: readonly string[] }>(),
  },
  'browser.check': {
    summary: 'tick a box or clear it',
    params: z.strictObject({ ...page, selector, checked: z.boolean().optional() }),
    result: result<{ readonly page: BrowserPage; readonly checked: boolean }>(),
  },
  'browser.wait': {
    summary: 'wait for an element, a text, an address or a load state',
    params: z.strictObject({
      ...page,
      selector: selector.optional(),
      text: z.string().min(1).max(4_096).optional(),
      url: z.string().min(1).max(4_096).optional(),
      load: wait.optional(),
      gone: z.boolean().optional(),
      timeoutMs: timeoutMs.optional(),
    }),
    result: result<{ readonly page: BrowserPage }>(),
  },
  'browser.get': {
    summary: 'something of the page or of an element',
    params: z.strictObject({
      ...page,
      what: z.enum(['url', 'title', 'text', 'html', 'value', 'attribute', 'count']),
      selector: selector.optional(),
      name: z.string().min(1).max(200).optional(),
    }),
    result: result<{ readonly page: BrowserPage; readonly value: string | null }>(),
  },
  'browser.eval': {
    summary: 'evaluate JavaScript in the page',
    params: z.strictObject({ ...page, expression: z.string().min(1) }),
    result: result<{ readonly page: BrowserPage; readonly value: unknown }>(),
  },
  'browser.screenshot': {
    summary: 'a picture of the page, in a file',
    params: z.strictObject({ ...page, path: cwd.optional(), fullPage: z.boolean().optional() }),
    result: result<{ readonly page: BrowserPage; readonly path: string; readonly bytes: number }>(),
  },
  'browser.focus': {
    summary: "bring the page's workspace to the front",
    params: z.strictObject({ ...page }),
    result: result<{ readonly page: BrowserPage; readonly focused: Focus }>(),
    focus: true,
  },
} as const satisfies Record<string, MethodDefinition>
