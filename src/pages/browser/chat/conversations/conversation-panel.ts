/** The conversations beside the chat: their list, its search, and what is done with one of them. Below a width it is a dialog. */
import { setUpDrawer } from '../../components/drawer.ts'
import { showToast } from '../../components/toast.ts'
import { findElement, getTexts } from '../../page.ts'
import type { ConversationRecord } from '../chat-message.ts'
import { exportAll, exportConversation } from './conversation-export.ts'
import { ConversationList } from './conversation-list.ts'
import type { ConversationStore } from './conversation-store.ts'
import type { OpenConversation } from './open-conversation.ts'

const texts = getTexts('chat')
const searchDelayMs = 150

interface PanelOptions {
  readonly store: ConversationStore
  readonly getOpen: () => OpenConversation
  /** Shows a conversation, or with null a new one. */
  readonly open: (id: string | null) => Promise<void>
}

export class ConversationPanel {
  readonly #options: PanelOptions
  readonly #drawer = findElement('[data-drawer]', HTMLDialogElement)
  readonly #search = findElement('[data-search]', HTMLInputElement)
  readonly #title = findElement('[data-title]', HTMLElement)
  readonly #list: ConversationList
  #searchTimer: ReturnType<typeof setTimeout> | undefined

  constructor(options: PanelOptions) {
    this.#options = options
    const { store, open } = options
    this.#list = new ConversationList(findElement('[data-conversations]', HTMLElement), {
      open: (id) => {
        this.close()
        void open(id)
      },
      rename: (id, title) => void this.#rename(id, title),
      exportOne: (record) => void exportConversation(store, record),
      remove: (record) => void this.#remove(record),
    })
    findElement('[data-export-all]', HTMLElement).addEventListener('click', () => void exportAll(store, texts.conversations))
    this.#search.addEventListener('input', () => {
      clearTimeout(this.#searchTimer)
      this.#searchTimer = setTimeout(() => void this.render(), searchDelayMs)
    })
    setUpDrawer(this.#drawer, findElement('[data-side]', HTMLElement), findElement('[data-open-drawer]', HTMLElement))
  }

  close(): void {
    this.#drawer.close()
  }

  async render(): Promise<void> {
    const { store, getOpen } = this.#options
    const searchText = this.#search.value.trim()
    const records = searchText === '' ? await store.list() : await store.search(searchText)
    const { id, record } = getOpen()
    this.#list.render(records, { current: id, isSearch: searchText !== '' })
    this.#title.textContent = record.title === '' ? texts.newChat : record.title
  }

  async #rename(id: string, title: string): Promise<void> {
    const { store, getOpen } = this.#options
    const open = getOpen()
    const record = id === open.id ? open.record : await store.find(id)
    if (record !== undefined && title !== record.title) {
      if (id === open.id) open.update({ title, named: true })
      else await store.saveConversation({ ...record, title, named: true })
    }
    await this.render()
  }

  async #remove(record: ConversationRecord): Promise<void> {
    const { store, getOpen, open } = this.#options
    await store.remove(record.id)
    if (getOpen().id === record.id) await open(null)
    else await this.render()
    showToast(texts.removed, {
      label: texts.undo,
      run: () => void store.restore(record.id).then(() => open(record.id)),
    })
  }
}
