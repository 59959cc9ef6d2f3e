"""States, histories and the store as the SDKs of LangGraph are told them, against what real graphs tell."""
