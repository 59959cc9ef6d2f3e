/** Databases of the PostgreSQL that all suites share. */

import pg from "pg";
import { inject } from "vitest";

/** A database of the shared PostgreSQL. */
export class Database {
  readonly url: string;
  readonly #name: string;
  readonly #host = inject("postgresFolder");

  private constructor(name: string) {
    this.#name = name;
    this.url = `postgres://postgres@localhost/${name}?host=${this.#host}`;
  }

  static async create(name: string): Promise<Database> {
    const made = new Database(name);
    await made.run([`create database ${name}`], "postgres");
    return made;
  }

  async run(statements: readonly string[], database = this.#name): Promise<void> {
    const client = new pg.Client({ host: this.#host, user: "postgres", database });
    await client.connect();
    try {
      for (const statement of statements) await client.query(statement);
    } finally {
      await client.end();
    }
  }
}
