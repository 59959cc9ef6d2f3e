/** Keeps a failure of one part of a page in that part. */

import { Component, type ReactNode } from "react";

interface Given {
  children: ReactNode;
  /** Where they are: a failure ends with another address. */
  at?: string;
  /** In place of what failed. */
  instead: (error: unknown) => ReactNode;
}

interface Known {
  at?: string | undefined;
  failed?: { error: unknown } | undefined;
}

export class Guard extends Component<Given, Known> {
  override state: Known = {};

  static getDerivedStateFromProps({ at }: Given, known: Known): Known | null {
    return at === known.at ? null : { at, failed: undefined };
  }

  static getDerivedStateFromError(error: unknown): Known {
    return { failed: { error } };
  }

  override render(): ReactNode {
    const { failed } = this.state;
    return failed ? this.props.instead(failed.error) : this.props.children;
  }
}
