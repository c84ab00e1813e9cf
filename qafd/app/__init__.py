"""What the pages are made of; with the component, the only place that uses Streamlit."""
