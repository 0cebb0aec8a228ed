// Elements are built from data as text: nothing that a row holds is ever read as HTML.

// el makes an element. Functions among the properties listen to the event of their name; the others are attributes.
export function el(tag, properties, ...children) {
  return fill(document.createElement(tag), properties, children)
}

const SVG = "http://www.w3.org/2000/svg"

// svg is el for the elements of a drawing.
export function svg(tag, properties, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children)
}

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (typeof value === "function") {
      element.addEventListener(name, value)
    } else {
      attribute(element, name, value)
    }
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false))
  return element
}

// attribute sets an attribute, or removes it where the value says so. It touches nothing that is as it should be.
export function attribute(element, name, value) {
  if (value === false || value === null || value === undefined) {
    element.removeAttribute(name)
  } else if (element.getAttribute(name) !== String(value)) {
    element.setAttribute(name, value === true ? "" : value)
  }
}

// text sets what an element says, unless it says so already: readers of the screen and the selection stay undisturbed.
export function text(element, value) {
  if (element.textContent !== value) {
    element.textContent = value
  }
}

// show shows an element or hides it.
export function show(element, visible) {
  if (element.hidden === visible) {
    element.hidden = !visible
  }
}

// keyed makes the children of a parent those of a list, in its order. Children of a key that stays are kept, with their
// focus: make(item) makes one, with an update(item) of its own.
export function keyed(parent, items, key, make) {
  const before = parent.parts ?? new Map()
  const parts = new Map()
  let at = parent.firstElementChild
  for (const item of items) {
    const name = key(item)
    const part = before.get(name) ?? make(item)
    parts.set(name, part)
    part.update(item)
    if (part.element === at) {
      at = at.nextElementSibling
    } else {
      parent.insertBefore(part.element, at)
    }
  }
  for (const [name, part] of before) {
    if (!parts.has(name)) {
      part.element.remove()
    }
  }
  parent.parts = parts
}
