"""Parts of the pages; the only place that uses Streamlit."""
