/** Hides a value from printing, serialising and walking through the object that holds it. */
export class Concealed<T> {
  readonly #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  reveal(): T {
    return this.#value;
  }
}
