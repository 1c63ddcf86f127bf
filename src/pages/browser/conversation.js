/** What has been said, kept in this tab for this account and nowhere else. */

/** Longer histories cost their reader more with every turn; the oldest messages are left behind. */
const mostCharacters = 2_000_000

export class Conversation {
  #key
  /**
   * `{role, content, reasoning?, model?, unfinished?}`, oldest first. `unfinished` is what kept an answer from its end: `'left'` while it is
   * written and ever after if the page went away meanwhile, or `{status, envelope}` of the failure. */
  messages

  constructor(account) {
    this.#key = `conversation:${account}`
    this.messages = read(this.#key)
  }

  add(message) {
    this.messages.push(message)
    this.save()
    return message
  }

  clear() {
    this.messages = []
    this.save()
  }

  remove(message) {
    this.messages = this.messages.filter((one) => one !== message)
    this.save()
  }

  /** What the model is sent: everything said to its end. Half an answer would look to it like its own whole one. */
  toRequest(asText) {
    return this.messages
      .filter(({ content, unfinished }) => content !== '' && unfinished === undefined)
      .map(({ role, content }) => ({ role, content: asText(content) }))
  }

  save() {
    let text = JSON.stringify(this.messages)
    while (text.length > mostCharacters && this.messages.length > 2) {
      this.messages.splice(0, 2)
      text = JSON.stringify(this.messages)
    }
    try {
      sessionStorage.setItem(this.#key, text)
    } catch {
      // A full or forbidden storage costs the history after a reload, not the conversation.
    }
  }
}

function read(key) {
  try {
    const kept = JSON.parse(sessionStorage.getItem(key) ?? '[]')
    return Array.isArray(kept) ? kept.filter(({ role, content }) => typeof role === 'string' && typeof content === 'string') : []
  } catch {
    return []
  }
}
